#include "protocol/data.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway {
namespace {

constexpr size_t kMaxEntries = 256;
constexpr size_t kMaxName = 255;
constexpr size_t kMaxPath = 4096;

bool is_identifier(std::string_view name) {
  if (name.empty() || name.size() > kMaxName || (name.front() >= '0' && name.front() <= '9')) return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// `what`: "input" or "output".
Status check_entry_name(std::string_view name, std::string_view what) {
  if (is_identifier(name)) return {};
  return fail(
      ErrorCode::kInvalidArgument, fmt::format("the {} name '{}' cannot be used", what, name.substr(0, 64)),
      "a name has letters, digits and '_', and does not begin with a digit: it becomes an environment "
      "variable");
}

Status check_path(std::string_view path, std::string_view what) {
  if (path.size() > kMaxPath || path.find('\0') != std::string_view::npos)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the path of {} is too long or holds a NUL byte", what));
  return {};
}

Result<JobInput> input_from_json(std::string_view name, const json::object& object) {
  JobInput input;
  std::string mode(to_text(input.mode));
  JsonFields fields(object, fmt::format("the input '{}'", name));
  fields.required("dataset", input.dataset);
  fields.optional("mode", mode);
  fields.optional("path", input.path);
  fields.optional("verify", input.verify);
  SLIPWAY_TRY(fields.finish());
  SLIPWAY_ASSIGN(input.mode, data_mode_from_text(mode));
  SLIPWAY_TRY(check_path(input.path, fmt::format("the input '{}'", name)));
  if (input.dataset.empty() || input.dataset.size() > kMaxName + 16)
    return fail(ErrorCode::kInvalidArgument, fmt::format("the input '{}' names no dataset", name),
                "write NAME or NAME:VERSION");
  return input;
}

json::object to_json(const JobInput& input) {
  return {{"dataset", input.dataset},
          {"mode", to_text(input.mode)},
          {"path", input.path},
          {"verify", input.verify}};
}

Result<JobOutput> output_from_json(std::string_view name, const json::object& object) {
  JobOutput output;
  std::string mode = "upload";
  JsonFields fields(object, fmt::format("the output '{}'", name));
  fields.optional("datastore", output.datastore);
  fields.optional("path", output.path);
  fields.optional("mode", mode);
  fields.optional("register_as", output.register_as);
  fields.optional("overwrite", output.overwrite);
  SLIPWAY_TRY(fields.finish());
  if (mode != "upload" && mode != "mount")
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the output '{}': field 'mode' must be upload or mount", name));
  output.mode = mode == "mount" ? OutputMode::kMount : OutputMode::kUpload;
  SLIPWAY_TRY(check_path(output.path, fmt::format("the output '{}'", name)));
  return output;
}

json::object to_json(const JobOutput& output) {
  return {{"datastore", output.datastore},
          {"path", output.path},
          {"mode", output.mode == OutputMode::kMount ? "mount" : "upload"},
          {"register_as", output.register_as},
          {"overwrite", output.overwrite}};
}

// Reads {name: object} with `read`, which gives the value of one name.
template <class Value, class Read>
Result<std::map<std::string, Value>> named_from_json(const json::object& object, std::string_view what,
                                                     Read read) {
  if (object.size() > kMaxEntries)
    return fail(ErrorCode::kInvalidArgument, fmt::format("the job has more than {} {}s", kMaxEntries, what));
  std::map<std::string, Value> values;
  for (const auto& [name, value] : object) {
    SLIPWAY_TRY(check_entry_name(name, what));
    if (!value.is_object())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the {} '{}' is not an object", what, std::string_view(name)));
    SLIPWAY_ASSIGN(values[std::string(name)], read(name, value.get_object()));
  }
  return values;
}

template <class Value>
json::object named_to_json(const std::map<std::string, Value>& values) {
  json::object object;
  for (const auto& [name, value] : values) object[name] = to_json(value);
  return object;
}

}  // namespace

std::string_view to_text(DataMode mode) {
  switch (mode) {
    case DataMode::kMount: return "mount";
    case DataMode::kDownload: return "download";
    case DataMode::kDirect: return "direct";
  }
  return "mount";
}

Result<DataMode> data_mode_from_text(std::string_view text) {
  for (const DataMode mode : {DataMode::kMount, DataMode::kDownload, DataMode::kDirect})
    if (text == to_text(mode)) return mode;
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no way to take data", text.substr(0, 32)),
              "use mount, download or direct");
}

json::object to_json(const JobInputs& inputs) {
  return named_to_json(inputs);
}
Result<JobInputs> job_inputs_from_json(const json::object& object) {
  return named_from_json<JobInput>(object, "input", input_from_json);
}

json::object to_json(const JobOutputs& outputs) {
  return named_to_json(outputs);
}
Result<JobOutputs> job_outputs_from_json(const json::object& object) {
  return named_from_json<JobOutput>(object, "output", output_from_json);
}

json::object to_json(const InputOrder& order) {
  return {{"name", order.name},
          {"dataset", order.dataset},
          {"version", order.version},
          {"manifest", order.manifest},
          {"files", order.files},
          {"bytes", order.bytes},
          {"wanted", to_json(order.wanted)}};
}

Result<InputOrder> input_order_from_json(const json::object& object) {
  InputOrder order;
  json::object wanted;
  JsonFields fields(object, "an input of the order");
  fields.required("name", order.name);
  fields.required("dataset", order.dataset);
  fields.required("version", order.version);
  fields.required("manifest", order.manifest);
  fields.optional("files", order.files);
  fields.optional("bytes", order.bytes);
  fields.required("wanted", wanted);
  SLIPWAY_TRY(fields.finish_lenient());
  SLIPWAY_TRY(check_entry_name(order.name, "input"));
  SLIPWAY_ASSIGN(order.wanted, input_from_json(order.name, wanted));
  return order;
}

}  // namespace slipway
