#include "node/mpi_channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/hmac.h"
#include "base/json.h"

namespace slipway::node {
namespace {

constexpr size_t kLongestLine = 1 << 20;

std::string proof_of(const Secret& secret, std::string_view nonce, const json::array& arguments) {
  return hmac_sha256(secret, fmt::format("{}\n{}", nonce, json::serialize(arguments)));
}

int milliseconds_until(Monotonic end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  return left.count() <= 0 ? 0 : static_cast<int>(std::min<int64_t>(left.count(), 60'000));
}

}  // namespace

Result<Endpoint> endpoint_from_text(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size())
    return fail(ErrorCode::kInvalidArgument, "the address of a node is not HOST:PORT");
  return Endpoint{.host = std::string(text.substr(0, colon)), .port = std::string(text.substr(colon + 1))};
}

Status MpiChannel::send_line(std::string_view line) {
  const std::string text = fmt::format("{}\n", line);
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(ErrorCode::kUnavailable, "the other node has closed the connection");
    sent += static_cast<size_t>(count);
  }
  return {};
}

Result<std::string> MpiChannel::read_line(Duration within) {
  const bool bounded = within >= Duration(0);
  const Monotonic end = std::chrono::steady_clock::now() + within;
  while (true) {
    if (const size_t at = buffer_.find('\n'); at != std::string::npos) {
      std::string line = buffer_.substr(0, at);
      buffer_.erase(0, at + 1);
      return line;
    }
    if (buffer_.size() > kLongestLine)
      return fail(ErrorCode::kTooLarge, "the other node sent too long a line");
    pollfd watched{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&watched, 1, bounded ? milliseconds_until(end) : -1);
    if (ready < 0 && errno != EINTR) return fail(errno_error(errno, "wait for another node"));
    if (ready <= 0 && bounded && std::chrono::steady_clock::now() >= end)
      return fail(ErrorCode::kTimeout, "the other node did not answer in time");
    if (ready <= 0) continue;
    char bytes[4096];
    const ssize_t count = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(ErrorCode::kUnavailable, "the other node has closed the connection");
    buffer_.append(bytes, static_cast<size_t>(count));
  }
}

std::string order_line(const Secret& secret, std::string_view nonce,
                       const std::vector<std::string>& arguments) {
  const json::array list = to_json(arguments);
  return json::serialize(json::object{{"arguments", list}, {"proof", proof_of(secret, nonce, list)}});
}

Result<std::vector<std::string>> arguments_in(std::string_view line, const Secret& secret,
                                              std::string_view nonce) {
  SLIPWAY_ASSIGN(const json::object order, parse_json_object(line, "mpirun's request"));
  std::vector<std::string> arguments;
  std::string proof;
  JsonFields fields(order, "mpirun's request");
  fields.required("arguments", arguments);
  fields.required("proof", proof);
  SLIPWAY_TRY(fields.finish());
  if (secret.empty() || !same_in_constant_time(proof, proof_of(secret, nonce, to_json(arguments))))
    return fail(ErrorCode::kPermissionDenied, "a caller without the run's secret was turned away");
  for (const std::string& argument : arguments)
    if (argument.find('\0') != std::string::npos)
      return fail(ErrorCode::kInvalidArgument, "an argument of orted holds a NUL byte");
  return arguments;
}

std::string take_variable(std::string_view name) {
  const std::string key(name);
  const char* value = ::getenv(key.c_str());
  std::string text = value == nullptr ? "" : value;
  ::unsetenv(key.c_str());
  return text;
}

}  // namespace slipway::node
