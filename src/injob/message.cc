#include "injob/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/monotonic_resource.hpp>
#include <cmath>
#include <iterator>

#include "base/file.h"
#include "base/json.h"
#include "base/json_document.h"

namespace slipway::injob {
namespace {

constexpr size_t kMaxTagKey = 256;
constexpr size_t kMaxTagValue = 5000;

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

// Leaves `target` as it is when there is no such field.
Status read_integer(const json::object& object, std::string_view field, int64_t& target) {
  const json::value* value = object.if_contains(field);
  if (value == nullptr) return {};
  // Steps of numpy and of JavaScript arrive as 7.0.
  const double* number = value->if_double();
  if (value->is_int64()) {
    target = value->get_int64();
  } else if (number != nullptr && std::trunc(*number) == *number && std::abs(*number) < 9e15) {
    target = static_cast<int64_t>(*number);
  } else {
    return refuse(fmt::format("'{}' must be a whole number", field));
  }
  return {};
}

Status add_metrics(const json::object& metrics, int64_t step, Timestamp time, Message& message) {
  const size_t before = message.points.size();
  for (const auto& item : metrics) {
    const auto number = journal::number_from_json(item.value());
    const std::string_view name = item.key();
    const bool good_name =
        !name.empty() && name.size() <= journal::kMaxMetricName && name.find('\0') == std::string_view::npos;
    if (number && good_name) {
      message.points.push_back({.name = std::string(name), .step = step, .time = time, .value = *number});
      continue;
    }
    message.points.resize(before);
    if (!good_name)
      return refuse(fmt::format("a metric's name must have 1 to {} bytes", journal::kMaxMetricName));
    return refuse(fmt::format("the metric '{}' is no number", name.substr(0, 64)));
  }
  return {};
}

// Tags and properties alike; `what` is the word for one of them.
Status add_pairs(const json::value& value, std::string_view what, std::map<std::string, std::string>& pairs) {
  if (!value.is_object()) return refuse(fmt::format("each {} must be a name and a text", what));
  for (const auto& item : value.get_object()) {
    const std::string_view key = item.key();
    if (key.empty() || key.size() > kMaxTagKey || !item.value().is_string() ||
        item.value().get_string().size() > kMaxTagValue || key.find('\0') != std::string_view::npos)
      return refuse(fmt::format("a {} must have a name of 1 to {} bytes and a text of up to {}", what,
                                kMaxTagKey, kMaxTagValue));
  }
  for (const auto& item : value.get_object())
    pairs.insert_or_assign(std::string(item.key()), std::string(item.value().get_string()));
  return {};
}

Result<std::vector<journal::Entry>> entries_of(const json::value& value, Timestamp now) {
  if (!value.is_array()) return refuse("the values must be a list");
  std::vector<journal::Entry> entries;
  for (const json::value& item : value.get_array()) {
    SLIPWAY_ASSIGN(journal::Entry entry, journal::entry_from_json(item, now));
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::string> path_of(const json::value& value) {
  if (!value.is_string() || !is_clean_relative_path(std::string_view(value.get_string())))
    return refuse("a file to keep must be a path below the working folder, such as outputs/plot.png");
  return std::string(value.get_string());
}

Status set_image(const json::value& value, Timestamp now, Message& message) {
  const json::object* image = value.if_object();
  const json::value* name = image == nullptr ? nullptr : image->if_contains("name");
  const json::value* path = image == nullptr ? nullptr : image->if_contains("path");
  if (name == nullptr || !name->is_string() || path == nullptr || name->get_string().empty() ||
      name->get_string().size() > journal::kMaxMetricName)
    return refuse("an image must have a name and a path");
  KeptFile file;
  SLIPWAY_ASSIGN(file.path, path_of(*path));
  file.image = std::string(name->get_string());
  SLIPWAY_TRY(read_integer(*image, "step", file.step));
  file.time = now;
  message.file = std::move(file);
  return {};
}

Status add_object(const json::object& object, Timestamp now, Message& message) {
  if (const json::value* metrics = object.if_contains("metrics")) {
    if (!metrics->is_object()) return refuse("'metrics' must be an object of numbers");
    int64_t step = 0;
    Timestamp time = now;
    SLIPWAY_TRY(read_integer(object, "step", step));
    SLIPWAY_TRY(read_integer(object, "time", time.micros));
    return add_metrics(metrics->get_object(), step, time, message);
  }
  if (const json::value* tags = object.if_contains("tags")) return add_pairs(*tags, "tag", message.tags);
  if (const json::value* properties = object.if_contains("properties"))
    return add_pairs(*properties, "property", message.properties);
  if (const json::value* values = object.if_contains("values")) {
    SLIPWAY_ASSIGN(std::vector<journal::Entry> entries, entries_of(*values, now));
    std::ranges::move(entries, std::back_inserter(message.entries));
    return {};
  }
  if (const json::value* path = object.if_contains("values_file")) {
    SLIPWAY_ASSIGN(std::string name, path_of(*path));
    if (name.contains('/')) return refuse("a values file must lie in the working folder itself");
    message.values_file = std::move(name);
    return {};
  }
  if (const json::value* file = object.if_contains("file")) {
    SLIPWAY_ASSIGN(std::string path, path_of(*file));
    message.file = KeptFile{.path = std::move(path), .image = "", .step = 0, .time = now};
    return {};
  }
  if (const json::value* image = object.if_contains("image")) return set_image(*image, now, message);
  return refuse(
      "a message must hold 'metrics', 'values', 'values_file', 'tags', 'properties', 'file' or 'image'");
}

}  // namespace

Status parse_message(std::string_view text, Timestamp now, Message& message) {
  if (text.size() > kMaxMessage) return refuse(fmt::format("a message has at most {} bytes", kMaxMessage));
  // Hundreds of thousands of these come in a second: the document lives on the stack.
  unsigned char memory[4096];
  json::monotonic_resource resource(memory, sizeof memory);
  boost::system::error_code error;
  const json::value value = parse_document(text, kMaxJsonDepth, error, &resource);
  if (error) return refuse(fmt::format("a message is not valid JSON: {}", error.message()));
  if (!value.is_object()) return refuse("a message must be a JSON object");
  return add_object(value.get_object(), now, message);
}

Result<std::vector<journal::Entry>> parse_values_file(std::string_view text, Timestamp now) {
  SLIPWAY_ASSIGN(const json::value document, parse_json(text, "a values file"));
  return entries_of(document, now);
}

}  // namespace slipway::injob
