// The conversation between `slipway mpi-start` on the first node of a run, which mpirun calls, and `slipway
// mpi-node` on another: lines over TCP.
//
//   node:  hello NONCE
//   start: {"arguments": [...], "proof": HMAC of the nonce and the arguments with the attempt's secret}
//   node:  started
//   node:  ended CODE          when orted has
//
// The secret itself never travels, and a proof is good for one conversation alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/secret.h"

namespace slipway::node {

struct Endpoint {
  std::string host;
  std::string port;
};
// "10.0.0.2:4711"; the last colon counts.
Result<Endpoint> endpoint_from_text(std::string_view text);

class MpiChannel {
 public:
  explicit MpiChannel(UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  Status send_line(std::string_view line);
  // Without its end. kUnavailable when the other side has gone, kTimeout, kTooLarge for a line of more than
  // a megabyte. A negative wait has no end.
  Result<std::string> read_line(Duration within);

 private:
  UniqueFd socket_;
  std::string buffer_;
};

// What mpi-start says, and how mpi-node reads it: kPermissionDenied without the right proof.
std::string order_line(const Secret& secret, std::string_view nonce,
                       const std::vector<std::string>& arguments);
Result<std::vector<std::string>> arguments_in(std::string_view line, const Secret& secret,
                                              std::string_view nonce);

// The value of a variable, which is taken out of the environment: the job has no use for it.
std::string take_variable(std::string_view name);

}  // namespace slipway::node
