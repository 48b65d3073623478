// A value that must not be seen: tokens, keys, passwords. It has no formatter and no stream operator, so that
// writing one to a log or an error does not compile; `reveal` marks each place where it leaves.
#pragma once

#include <string>

namespace slipway {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}

  const std::string& reveal() const { return value_; }
  bool empty() const { return value_.empty(); }

 private:
  std::string value_;
};

}  // namespace slipway
