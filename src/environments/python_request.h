// Which interpreter a definition asks for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace slipway::environments {

struct PythonVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const PythonVersion&) const = default;
};

// "3.11.2", also with a suffix such as "3.13.0rc1", which is dropped. kInvalidArgument.
Result<PythonVersion> parse_python_version(std::string_view text);
std::string to_text(const PythonVersion& version);

// What stands in EnvironmentDefinition::python:
//   ""             any
//   "3"            any 3.x
//   "3.11"         any patch release of 3.11
//   "3.6.2"        that, or the nearest patch release of 3.6
//   ">=3.8,<3.11"  any within the bounds (>=, >, <=, <, ==, !=)
class PythonRequest {
 public:
  static Result<PythonRequest> parse(std::string_view text);

  // Whether an interpreter of that version may be used. An exact patch release is only preferred: any of the
  // same minor version is allowed.
  bool allows(const PythonVersion& version) const;
  // Whether it is exactly what was asked for.
  bool is_exactly(const PythonVersion& version) const;
  // How far that version is from the wanted one: less is better; only for versions that are allowed. Without
  // a wanted patch release the newest is nearest.
  int64_t distance(const PythonVersion& version) const;
  const std::string& text() const { return text_; }

 private:
  struct Bound {
    std::string compare;  // ">=", ">", "<=", "<", "==", "!="
    PythonVersion version;
    int components = 0;  // given: of "3.11" 2
  };
  static Result<Bound> parse_bound(std::string_view text, std::string_view whole);

  std::string text_;
  std::vector<Bound> bounds_;
  bool preferred_patch_ = false;  // bounds_[0] names one patch release
};

}  // namespace slipway::environments
