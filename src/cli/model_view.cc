#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/models.h"
#include "cli/quantities.h"
#include "cli/table.h"
#include "cli/words.h"

namespace slipway::cli {
namespace {

std::string size_text(const json::object& model) {
  return bytes_text(static_cast<uint64_t>(std::max<int64_t>(integer_at(model, "bytes"), 0)));
}

std::string pairs_text(const json::object& pairs) {
  std::string text;
  for (const auto& pair : pairs)
    text += fmt::format("{}{}={}", text.empty() ? "" : "\n", std::string_view(pair.key()),
                        value_text(pair.value()));
  return text;
}

// "x FP32 [?, 784], y INT64 [?]"
std::string tensors_text(const json::array& tensors) {
  std::string text;
  for (const json::value& item : tensors) {
    if (!item.is_object()) continue;
    const json::object& tensor = item.get_object();
    std::string shape;
    for (const json::value& dimension : array_at(tensor, "shape")) {
      const int64_t size = dimension.is_int64() ? dimension.get_int64() : -1;
      shape += fmt::format("{}{}", shape.empty() ? "" : ", ", size < 0 ? "?" : std::to_string(size));
    }
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", text_at(tensor, "name"),
                        text_at(tensor, "datatype"),
                        has_value(tensor, "shape") ? fmt::format(" [{}]", shape) : "");
  }
  return text;
}

std::string signature_text(const json::object& signatures) {
  std::string text;
  for (const auto& [name, value] : signatures) {
    if (!value.is_object()) continue;
    text += fmt::format("{}{}: {} -> {}", text.empty() ? "" : "\n", std::string_view(name),
                        tensors_text(array_at(value.get_object(), "inputs")),
                        tensors_text(array_at(value.get_object(), "outputs")));
  }
  return text;
}

std::string needs_text(const json::object& resources) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (const double cpus = number_at(resources, "cpus").value_or(0); cpus > 0)
    add(fmt::format("{} CPU{}", cpus, cpus == 1 ? "" : "s"));
  if (const int64_t bytes = integer_at(resources, "memory_bytes"); bytes > 0)
    add(bytes_text(static_cast<uint64_t>(bytes)));
  if (const int64_t gpus = integer_at(resources, "gpus"); gpus > 0) add(count_of(gpus, "GPU"));
  return text;
}

std::string sample_text(const json::object& sample) {
  if (!text_at(sample, "dataset").empty()) return "dataset " + text_at(sample, "dataset");
  return fmt::format("{} ({})", text_at(sample, "name"),
                     bytes_text(static_cast<uint64_t>(std::max<int64_t>(integer_at(sample, "size"), 0))));
}

void add_origin(Facts& facts, const json::object& model) {
  if (has_value(model, "run"))
    facts.add("from run", text_at(model, "path").empty()
                              ? text_at(model, "run")
                              : fmt::format("{}, {}", text_at(model, "run"), text_at(model, "path")));
  const json::object& code = object_at(model, "code");
  if (!text_at(code, "snapshot").empty())
    facts.add("code", "snapshot " + text_at(code, "snapshot").substr(0, 12));
  const json::object& git = object_at(code, "git");
  if (!text_at(git, "commit").empty())
    facts.add("git", fmt::format("{} on {}{}", text_at(git, "commit").substr(0, 12), text_at(git, "branch"),
                                 flag_at(git, "dirty") ? ", with changes" : ""));
  if (!array_at(code, "command").empty()) facts.add("command", join_words(texts_at(code, "command")));
  if (const std::string datasets = pairs_text(object_at(model, "datasets")); !datasets.empty())
    facts.add("made from", datasets);
}

void add_trial(Facts& facts, const json::object& trial) {
  const json::value* serves = trial.if_contains("serves");
  const bool known = serves != nullptr && serves->is_bool();
  facts.add("serves", trial_text(trial),
            !known               ? Colour::kNone
            : serves->get_bool() ? Colour::kGreen
                                 : Colour::kRed);
  if (const std::string signature = signature_text(object_at(trial, "signature")); !signature.empty())
    facts.add("signature", signature);
  if (!text_at(trial, "note").empty()) facts.add("note", text_at(trial, "note"));
}

}  // namespace

std::string trial_text(const json::object& trial) {
  const std::string state = text_at(trial, "state");
  const std::string reason = text_at(trial, "reason");
  if (state == "running")
    return text_at(trial, "run").empty() ? "the trial load is about to start"
                                         : fmt::format("the trial load runs: {}", text_at(trial, "run"));
  const json::value* serves = trial.if_contains("serves");
  if (serves == nullptr || !serves->is_bool()) return "not known: " + reason;
  if (!serves->get_bool()) return "no: " + reason;
  return text_at(trial, "runtime").empty() ? "yes" : "yes, with " + text_at(trial, "runtime");
}

void print_models(Context& context, json::array models) {
  if (context.console.json()) {
    context.console.print_json(json::object{{"items", std::move(models)}});
    return;
  }
  const Timestamp now = context.clock.now();
  Table table({{"MODEL"},
               {"FRAMEWORK"},
               {"SERVES"},
               {"SIZE", Align::kRight},
               {"CREATED"},
               {"FROM RUN"},
               {"DESCRIPTION", Align::kLeft, 12}});
  for (const json::value& item : models) {
    const json::object& model = item.as_object();
    const auto created = time_at(model, "created_at");
    const json::object& trial = object_at(model, "trial");
    const json::value* serves = trial.if_contains("serves");
    const bool known = serves != nullptr && serves->is_bool();
    table.add(
        {text_at(model, "id"), text_at(model, "framework"),
         known ? Cell(serves->get_bool() ? "yes" : "no", serves->get_bool() ? Colour::kGreen : Colour::kRed)
               : Cell("-"),
         size_text(model), created ? relative_time(*created, now) : "-", text_at(model, "run"),
         text_at(model, "description")});
  }
  context.console.out(table.render(context.console.width(), context.console.colour_out()));
}

void print_model(Context& context, const json::object& model) {
  if (context.console.json()) {
    context.console.print_json(model);
    return;
  }
  Facts facts;
  facts.add("model", text_at(model, "id"), Colour::kBold);
  if (!text_at(model, "description").empty()) facts.add("description", text_at(model, "description"));
  facts.add("framework",
            text_at(model, "framework_version").empty()
                ? text_at(model, "framework")
                : fmt::format("{} {}", text_at(model, "framework"), text_at(model, "framework_version")));
  if (!text_at(model, "environment").empty()) facts.add("environment", text_at(model, "environment"));
  facts.add("has", fmt::format("{}, {}", count_of(integer_at(model, "files"), "file"), size_text(model)));
  add_trial(facts, object_at(model, "trial"));
  if (const std::string needs = needs_text(object_at(model, "resources")); !needs.empty())
    facts.add("needs", needs);
  add_origin(facts, model);
  for (const auto& [field, label] : {std::pair{"sample_input", "takes"}, std::pair{"sample_output", "gives"}})
    if (has_value(model, field)) facts.add(label, sample_text(object_at(model, field)));
  if (const std::string tags = pairs_text(object_at(model, "tags")); !tags.empty()) facts.add("tags", tags);
  if (const std::string properties = pairs_text(object_at(model, "properties")); !properties.empty())
    facts.add("properties", properties);
  const auto created = time_at(model, "created_at");
  facts.add("created",
            fmt::format("{} by {}", created ? relative_time(*created, context.clock.now()) : "-",
                        text_at(model, "created_by").empty() ? "-" : text_at(model, "created_by")));
  for (const auto& [field, label] : {std::pair{"services", "served by"}, std::pair{"used_by", "used by"}})
    if (const auto users = texts_at(model, field); !users.empty())
      facts.add(label, fmt::format("{}", fmt::join(users, "\n")));
  facts.add("snapshot", text_at(model, "snapshot").substr(0, 16));
  context.console.out(facts.render(context.console.colour_out()));
}

}  // namespace slipway::cli
