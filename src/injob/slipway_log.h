// Log metrics, tags and files of a Slipway run from C++. One header, C++17, nothing else needed:
//
//   #include <slipway_log.h>
//   slipway::log("loss", 0.12, step);
//   slipway::log_tag("optimizer", "adam");
//   slipway::log_file("outputs/plot.png");
//
// Outside a run every call does nothing and returns false. Inside one it hands a datagram to the run's
// supervisor on this machine: a few microseconds, no network, nothing thrown. Should the supervisor be
// behind, a call waits for it, at most five seconds; then the value is dropped and the call returns false.
// Safe from any thread, and after fork.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace slipway {
namespace log_detail {

inline int connect_to_run() noexcept {
  const char* path = std::getenv("SLIPWAY_SOCKET");
  sockaddr_un address{};
  if (path == nullptr || *path == '\0' || std::strlen(path) >= sizeof address.sun_path) return -1;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, std::strlen(path));
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

// The kernel holds a handful of datagrams for a receiver that is busy, so waiting is short and usual.
inline bool send_message(std::string_view message) noexcept {
  static const int fd = connect_to_run();
  if (fd < 0) return false;
  for (int round = 0; round < 50; ++round) {
    if (::send(fd, message.data(), message.size(), MSG_NOSIGNAL) >= 0) return true;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != ENOBUFS) return false;
    pollfd ready{fd, POLLOUT, 0};
    ::poll(&ready, 1, 100);
  }
  return false;
}

inline void append_text(std::string& to, std::string_view text) {
  to += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      to += escaped;
    } else {
      to += c;
    }
  }
  to += '"';
}

inline void append_number(std::string& to, double value) {
  if (std::isnan(value)) {
    to += "\"NaN\"";
  } else if (std::isinf(value)) {
    to += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    char digits[40];
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
    to.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
#else
    std::snprintf(digits, sizeof digits, "%.17g", value);
    for (char* c = digits; *c != '\0'; ++c)
      if (*c == ',') *c = '.';  // the decimal point of another locale
    to += digits;
#endif
  }
}

template <class Build>
bool build_and_send(Build build) noexcept {
  try {
    std::string message;
    message.reserve(128);
    build(message);
    return send_message(message);
  } catch (...) {
    return false;  // out of memory: a metric is not worth the job
  }
}

}  // namespace log_detail

// One metric at one step. True once the run's supervisor has it.
inline bool log(std::string_view name, double value, int64_t step = 0) noexcept {
  return log_detail::build_and_send([&](std::string& message) {
    message += "{\"metrics\":{";
    log_detail::append_text(message, name);
    message += ':';
    log_detail::append_number(message, value);
    message += "},\"step\":";
    message += std::to_string(step);
    message += '}';
  });
}

// Several metrics of one step in one message: slipway::log({{"loss", 0.12}, {"accuracy", 0.97}}, step).
inline bool log(std::initializer_list<std::pair<std::string_view, double>> metrics,
                int64_t step = 0) noexcept {
  return log_detail::build_and_send([&](std::string& message) {
    message += "{\"metrics\":{";
    for (const auto& [name, value] : metrics) {
      if (message.back() != '{') message += ',';
      log_detail::append_text(message, name);
      message += ':';
      log_detail::append_number(message, value);
    }
    message += "},\"step\":";
    message += std::to_string(step);
    message += '}';
  });
}

// A property of the run, to find it by.
inline bool log_tag(std::string_view name, std::string_view value) noexcept {
  return log_detail::build_and_send([&](std::string& message) {
    message += "{\"tags\":{";
    log_detail::append_text(message, name);
    message += ':';
    log_detail::append_text(message, value);
    message += "}}";
  });
}

// Keeps a file of the working folder with the run now, not only at its end: "outputs/plot.png".
inline bool log_file(std::string_view path) noexcept {
  return log_detail::build_and_send([&](std::string& message) {
    message += "{\"file\":";
    log_detail::append_text(message, path);
    message += '}';
  });
}

// The same for a picture that is shown under a name, step by step.
inline bool log_image(std::string_view name, std::string_view path, int64_t step = 0) noexcept {
  return log_detail::build_and_send([&](std::string& message) {
    message += "{\"image\":{\"name\":";
    log_detail::append_text(message, name);
    message += ",\"path\":";
    log_detail::append_text(message, path);
    message += ",\"step\":";
    message += std::to_string(step);
    message += "}}";
  });
}

}  // namespace slipway
