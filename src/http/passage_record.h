// Tells the gateway how a passage ended, however it is left.
#pragma once

#include "base/clock.h"
#include "http/gateway.h"

namespace slipway::http {

class PassageRecord {
 public:
  // Both outlive it.
  PassageRecord(Gateway& gateway, const Passage& passage)
      : gateway_(gateway), passage_(passage), begun_(std::chrono::steady_clock::now()) {}
  ~PassageRecord() {
    const auto took = std::chrono::steady_clock::now() - begun_;
    gateway_.ended(passage_, end, status, std::chrono::duration_cast<std::chrono::microseconds>(took));
  }
  PassageRecord(const PassageRecord&) = delete;
  PassageRecord& operator=(const PassageRecord&) = delete;

  PassageEnd end = PassageEnd::kBroken;
  int status = 0;

 private:
  Gateway& gateway_;
  const Passage& passage_;
  const Monotonic begun_;
};

// For the client, of a passage that ended without an answer.
inline Error failure_of(PassageEnd end) {
  if (end == PassageEnd::kLate)
    return {.code = ErrorCode::kTimeout,
            .message = "the service did not answer in time",
            .next = "try again, or send less at once",
            .detail = ""};
  return {.code = ErrorCode::kUnreachable,
          .message = "the service went away in the middle of the request",
          .next = "try again if it may be done twice",
          .detail = ""};
}

}  // namespace slipway::http
