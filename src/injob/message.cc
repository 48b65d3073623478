#include "injob/message.h"

#include <fmt/format.h>

#include <boost/json/monotonic_resource.hpp>
#include <cmath>
#include <limits>

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

std::optional<double> number_of(const json::value& value) {
  if (value.is_number()) return value.to_number<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string_view text = value.get_string();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
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
    const auto number = number_of(item.value());
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

Status add_tags(const json::object& tags, Message& message) {
  for (const auto& item : tags) {
    const std::string_view key = item.key();
    if (key.empty() || key.size() > kMaxTagKey || !item.value().is_string() ||
        item.value().get_string().size() > kMaxTagValue || key.find('\0') != std::string_view::npos)
      return refuse(fmt::format("a tag must have a name of 1 to {} bytes and a text of up to {}", kMaxTagKey,
                                kMaxTagValue));
  }
  for (const auto& item : tags)
    message.tags.insert_or_assign(std::string(item.key()), std::string(item.value().get_string()));
  return {};
}

Result<std::string> path_of(const json::value& value) {
  if (!value.is_string() || !is_clean_relative_path(std::string_view(value.get_string())))
    return refuse("a file to keep must be a path below the working folder, such as outputs/plot.png");
  return std::string(value.get_string());
}

Status set_image(const json::value& value, Message& message) {
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
  if (const json::value* tags = object.if_contains("tags")) {
    if (!tags->is_object()) return refuse("'tags' must be an object of strings");
    return add_tags(tags->get_object(), message);
  }
  if (const json::value* file = object.if_contains("file")) {
    SLIPWAY_ASSIGN(std::string path, path_of(*file));
    message.file = KeptFile{.path = std::move(path), .image = "", .step = 0};
    return {};
  }
  if (const json::value* image = object.if_contains("image")) return set_image(*image, message);
  return refuse("a message must hold 'metrics', 'tags', 'file' or 'image'");
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

}  // namespace slipway::injob
