// Which Host and Origin headers a server answers to. Browsers send both truthfully, so this keeps web pages
// of others out: DNS rebinding by Host, cross-site requests by Origin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/parser.h"

namespace slipway::http {

// True for 127.0.0.0/8, ::1 and localhost.
bool is_loopback(std::string_view address);

class HostRule {
 public:
  // `address` is what the server listens on; see ServerOptions::allowed_hosts.
  HostRule(std::string_view address, std::vector<std::string> allowed);

  // kInvalidArgument without a Host where HTTP/1.1 wants one, kPermissionDenied for a foreign Host or Origin.
  Status check(const Head& head) const;

 private:
  bool any_host_ = false;
  std::vector<std::string> hosts_;
};

}  // namespace slipway::http
