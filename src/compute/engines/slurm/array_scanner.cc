#include "compute/engines/slurm/array_scanner.h"

#include <array>

namespace slipway::compute {
namespace {

constexpr size_t kLargestElement = 16 << 20;
constexpr size_t kLargestRest = 64 << 10;
constexpr size_t kLongestName = 256;

consteval std::array<bool, 256> table_of(std::string_view stops) {
  std::array<bool, 256> table{};
  for (const char c : stops) table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr auto kStructure = table_of("\"{}[]");
constexpr auto kEndsString = table_of("\"\\");

size_t find_any(std::string_view bytes, size_t at, const std::array<bool, 256>& stops) {
  while (at < bytes.size() && !stops[static_cast<unsigned char>(bytes[at])]) ++at;
  return at;
}

}  // namespace

void ArrayScanner::keep_rest(std::string_view bytes) {
  rest_ += bytes.substr(0, kLargestRest - std::min(kLargestRest, rest_.size()));
}

void ArrayScanner::open(char bracket, size_t at, std::string_view bytes) {
  if (in_array_ && depth_ == 2 && bracket == '{') {
    in_element_ = true;
    begin_ = at;
  } else if (bracket == '[' && depth_ == 1 && field_is_next_) {
    in_array_ = true;
    keep_rest(bytes.substr(begin_, at + 1 - begin_));
  }
  began_ = true;
  ++depth_;
}

void ArrayScanner::close(size_t at, std::string_view bytes) {
  --depth_;
  if (in_element_ && depth_ == 2) {
    const std::string_view here = bytes.substr(begin_, at + 1 - begin_);
    if (element_.empty()) {
      on_element_(here);
    } else {
      element_ += here;
      on_element_(element_);
      element_.clear();
    }
    in_element_ = false;
  } else if (in_array_ && depth_ == 1) {
    in_array_ = false;
    begin_ = at;
  }
}

Status ArrayScanner::feed(std::string_view bytes) {
  begin_ = 0;
  size_t at = 0;
  while (at < bytes.size()) {
    if (escaped_) {
      escaped_ = false;
      ++at;
      continue;
    }
    const size_t start = at;
    at = find_any(bytes, at, in_string_ ? kEndsString : kStructure);
    if (in_string_ && !in_element_ && name_.size() < kLongestName) name_ += bytes.substr(start, at - start);
    if (at == bytes.size()) break;
    const char c = bytes[at];
    if (in_string_) {
      escaped_ = c == '\\';
      in_string_ = escaped_;
      if (!in_string_ && !in_element_ && depth_ == 1) field_is_next_ = name_ == field_;
    } else if (c == '"') {
      in_string_ = true;
      name_.clear();
    } else if (c == '{' || c == '[') {
      open(c, at, bytes);
    } else {
      if (depth_ == 0) return fail(ErrorCode::kUnavailable, "the answer of Slurm is no JSON document");
      close(at, bytes);
    }
    ++at;
  }
  if (in_element_) {
    element_ += bytes.substr(begin_);
    if (element_.size() > kLargestElement)
      return fail(ErrorCode::kTooLarge, "an entry in the answer of Slurm is larger than 16 MiB");
  } else if (!in_array_) {
    keep_rest(bytes.substr(begin_));
  }
  return {};
}

}  // namespace slipway::compute
