// Fields of the server's answers, read leniently: what is absent or of another type (a newer server) is shown
// as nothing rather than refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

namespace slipway::cli {

std::string text_at(const json::object& object, std::string_view name);
int64_t integer_at(const json::object& object, std::string_view name, int64_t fallback = 0);
// "NaN", "Infinity" and "-Infinity" are numbers too.
std::optional<double> number_at(const json::object& object, std::string_view name);
bool flag_at(const json::object& object, std::string_view name);
std::optional<Timestamp> time_at(const json::object& object, std::string_view name);
// Empty ones when absent.
const json::object& object_at(const json::object& object, std::string_view name);
const json::array& array_at(const json::object& object, std::string_view name);
std::vector<std::string> texts_at(const json::object& object, std::string_view name);
bool has_value(const json::object& object, std::string_view name);  // there, and not null

// A JSON value as one line for people: strings bare, objects as "k=v, k=v".
std::string value_text(const json::value& value);
// A metric's value: up to six significant digits.
std::string metric_text(std::optional<double> value);

}  // namespace slipway::cli
