#include "environments/python_request.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <tuple>

#include "environments/line_text.h"

namespace slipway::environments {
namespace {

auto no_version(std::string_view text) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no version of Python", shown(text, 40)),
              "for example: 3.11, 3.8.10 or >=3.8,<3.12");
}

// How many components were read: 0 for text that is no version.
int read_components(std::string_view text, PythonVersion& version) {
  int* const components[] = {&version.major, &version.minor, &version.patch};
  int count = 0;
  while (count < 3) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *components[count]);
    if (error != std::errc{} || *components[count] < 0 || *components[count] > 999) return 0;
    ++count;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
    if (text == "*") return count;
  }
  // "rc1", "a2", "+": a suffix of the last component.
  return text.empty() || is_letter_or_digit(text.front()) || text.front() == '+' ? count : 0;
}

// Compares only the components that were given.
int compare(const PythonVersion& version, const PythonVersion& bound, int components) {
  const std::array left{version.major, version.minor, version.patch};
  const std::array right{bound.major, bound.minor, bound.patch};
  for (size_t i = 0; i < static_cast<size_t>(components); ++i)
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  return 0;
}

}  // namespace

Result<PythonVersion> parse_python_version(std::string_view text) {
  PythonVersion version;
  if (read_components(trimmed(text), version) < 2) return no_version(text);
  return version;
}

std::string to_text(const PythonVersion& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

Result<PythonRequest::Bound> PythonRequest::parse_bound(std::string_view text, std::string_view whole) {
  Bound bound;
  for (const char* compare : {">=", "<=", "==", "!=", "~=", ">", "<", "="}) {
    if (!text.starts_with(compare)) continue;
    bound.compare = compare;
    break;
  }
  bound.components = read_components(trimmed(text.substr(bound.compare.size())), bound.version);
  if (bound.components == 0) return no_version(whole);
  if (bound.compare.empty() || bound.compare == "=") bound.compare = "==";
  return bound;
}

Result<PythonRequest> PythonRequest::parse(std::string_view text) {
  PythonRequest request;
  request.text_ = std::string(trimmed(text));
  if (request.text_.empty() || request.text_ == "*") return request;
  for (const std::string_view piece : pieces_of(request.text_, ',')) {
    SLIPWAY_ASSIGN(Bound bound, parse_bound(piece, text));
    if (bound.compare == "~=") {
      // ~=3.8 is >=3.8 below 4; ~=3.8.2 is >=3.8.2 within 3.8.
      Bound family = bound;
      bound.compare = ">=";
      family.compare = "==";
      family.components = std::max(1, bound.components - 1);
      request.bounds_.push_back(family);
    }
    request.bounds_.push_back(bound);
  }
  Bound& first = request.bounds_.front();
  request.preferred_patch_ = request.bounds_.size() == 1 && first.compare == "==" && first.components == 3;
  return request;
}

bool PythonRequest::allows(const PythonVersion& version) const {
  for (const Bound& bound : bounds_) {
    const int order = compare(version, bound.version, preferred_patch_ ? 2 : bound.components);
    const bool good = bound.compare == ">="   ? order >= 0
                      : bound.compare == "<=" ? order <= 0
                      : bound.compare == ">"  ? order > 0
                      : bound.compare == "<"  ? order < 0
                      : bound.compare == "!=" ? order != 0
                                              : order == 0;
    if (!good) return false;
  }
  return true;
}

bool PythonRequest::is_exactly(const PythonVersion& version) const {
  return allows(version) && (!preferred_patch_ || version.patch == bounds_.front().version.patch);
}

int64_t PythonRequest::distance(const PythonVersion& version) const {
  if (!preferred_patch_) return -((version.major * 1000LL + version.minor) * 1000 + version.patch);
  return std::abs(version.patch - bounds_.front().version.patch);
}

}  // namespace slipway::environments
