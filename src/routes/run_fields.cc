#include "routes/run_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "routes/request.h"

namespace slipway::routes {
namespace {

constexpr size_t kMostPairs = 256;
constexpr size_t kMostWantedPairs = 16;
constexpr size_t kLongestKey = 250;
constexpr size_t kLongestValue = 8000;
constexpr size_t kLongestName = 256;
constexpr size_t kLongestDescription = 16 << 10;

std::unexpected<Error> refuse(std::string message, std::string next = "") {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(next));
}

Status check_key(std::string_view key, std::string_view what) {
  if (key.empty() || key.size() > kLongestKey)
    return refuse(fmt::format("the key of a {} has 1 to {} bytes", what, kLongestKey));
  return {};
}

Result<std::string> value_of(std::string_view key, const json::value& value, std::string_view what) {
  if (!value.is_string() || value.get_string().size() > kLongestValue)
    return refuse(
        fmt::format("the value of {} '{}' must be a string of at most {} bytes", what, key, kLongestValue));
  return std::string(value.get_string());
}

Result<runs::RunState> state_of(const std::string& text) {
  if (const auto state = runs::run_state_from_text(text)) return *state;
  std::string names;
  for (const runs::RunState state : runs::kAllRunStates)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_text(state));
  return refuse(fmt::format("'{}' is no state of a run", text.substr(0, 64)), "the states are " + names);
}

Result<std::vector<runs::WantedPair>> wanted_pairs(const http::Request& request, std::string_view field) {
  std::vector<runs::WantedPair> wanted;
  const auto text = request.query_value(field);
  if (!text) return wanted;
  SLIPWAY_ASSIGN(const json::object object, parse_json_object(*text, field));
  if (object.size() > kMostWantedPairs)
    return refuse(fmt::format("at most {} {} at once", kMostWantedPairs, field));
  for (const auto& pair : object) {
    if (!pair.value().is_string() && !pair.value().is_null())
      return refuse(fmt::format("the {} to filter by have texts as values, or null for any", field));
    wanted.push_back({.key = std::string(pair.key()), .value = std::nullopt});
    if (pair.value().is_string()) wanted.back().value = std::string(pair.value().get_string());
  }
  return wanted;
}

bool has_control_characters(std::string_view text, std::string_view allowed) {
  return std::ranges::any_of(text, [&](char c) {
    return (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) && !allowed.contains(c);
  });
}

}  // namespace

Result<PairFilter> pair_filter_of(const http::Request& request) {
  PairFilter filter;
  SLIPWAY_ASSIGN(filter.tags, wanted_pairs(request, "tags"));
  SLIPWAY_ASSIGN(filter.properties, wanted_pairs(request, "properties"));
  if (const auto tag = request.query_value("tag")) {
    const size_t equals = tag->find('=');
    if (equals == std::string::npos || equals == 0) return refuse("a tag to filter by is written key=value");
    filter.tags.insert(filter.tags.begin(),
                       {.key = tag->substr(0, equals), .value = tag->substr(equals + 1)});
  }
  return filter;
}

Result<runs::RunFilter> filter_of(const http::Request& request) {
  runs::RunFilter filter;
  SLIPWAY_ASSIGN(filter.limit, limit_of(request));
  SLIPWAY_ASSIGN(const auto cursor, cursor_of(request));
  if (cursor) filter.before_seq = *cursor;
  if (const auto experiment = request.query_value("experiment"))
    filter.experiment = ExperimentName(*experiment);
  if (const auto text = request.query_value("state")) {
    SLIPWAY_ASSIGN(filter.state, state_of(*text));
  }
  if (const auto text = request.query_value("type")) {
    filter.type = runs::run_type_from_text(*text);
    if (!filter.type)
      return refuse(fmt::format("'{}' is no type of a run", text->substr(0, 64)),
                    "the types are job and interactive");
  }
  if (const auto text = request.query_value("kind")) {
    filter.kind = runs::run_kind_from_text(*text);
    if (!filter.kind && *text != "all")
      return refuse(fmt::format("'{}' is no kind of a run", text->substr(0, 64)),
                    "the kinds are job, trial and replica, or all");
  }
  SLIPWAY_ASSIGN(PairFilter pairs, pair_filter_of(request));
  filter.tags = std::move(pairs.tags);
  filter.properties = std::move(pairs.properties);
  return filter;
}

Result<TagChange> tag_change(const json::object& tags) {
  TagChange change;
  for (const auto& tag : tags) {
    SLIPWAY_TRY(check_key(tag.key(), "tag"));
    if (tag.value().is_null()) {
      change.remove.emplace_back(tag.key());
      continue;
    }
    SLIPWAY_ASSIGN(change.set[std::string(tag.key())], value_of(tag.key(), tag.value(), "tag"));
  }
  if (change.set.size() > kMostPairs) return refuse(fmt::format("a run has at most {} tags", kMostPairs));
  return change;
}

Result<std::map<std::string, std::string>> pairs_of(const json::object& object, std::string_view what) {
  std::map<std::string, std::string> pairs;
  if (object.size() > kMostPairs)
    return refuse(fmt::format("at most {} of kind {} at once", kMostPairs, what));
  for (const auto& pair : object) {
    SLIPWAY_TRY(check_key(pair.key(), what));
    SLIPWAY_ASSIGN(pairs[std::string(pair.key())], value_of(pair.key(), pair.value(), what));
  }
  return pairs;
}

Status check_display_name(const std::string& name) {
  if (name.size() > kLongestName || has_control_characters(name, ""))
    return refuse(fmt::format("a display name has at most {} bytes and no control characters", kLongestName));
  return {};
}

Status check_description(const std::string& text) {
  if (text.size() > kLongestDescription || has_control_characters(text, "\n\r\t"))
    return refuse(fmt::format("a description has at most {} bytes and no control characters but line ends",
                              kLongestDescription));
  return {};
}

}  // namespace slipway::routes
