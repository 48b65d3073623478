// For this folder's tests: a gateway to the servers of a list, in their order.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "http/gateway.h"

namespace slipway::http {

class ListGateway final : public Gateway {
 public:
  void add(uint16_t port, std::string key = "") {
    auto upstream = std::make_shared<Upstream>();
    upstream->id = upstreams.size() + 1;
    upstream->host = "127.0.0.1";
    upstream->port = port;
    upstream->key = Secret(std::move(key));
    upstreams.push_back(std::move(upstream));
  }

  bool takes(std::string_view target) const override { return target.starts_with("/services/"); }
  std::expected<Passage, Response> choose(const Head& head, std::string_view door,
                                          std::span<const uint64_t> tried) override {
    for (const auto& upstream : upstreams) {
      if (std::ranges::count(tried, upstream->id) > 0) continue;
      ++upstream->under_way;
      std::string target =
          door.empty() ? head.target.substr(std::string_view("/services/x").size()) : head.target;
      return Passage{upstream, target, "id-7", answer_time, repeatable};
    }
    return std::unexpected(text_response("nobody is there", 503));
  }
  void ended(const Passage& passage, PassageEnd how, int, std::chrono::microseconds) override {
    --passage.upstream->under_way;
    const std::lock_guard lock(mutex);
    ends.push_back(how);
  }
  Response refusal(const Passage&, const Error& error) override { return error_response(error); }

  std::vector<PassageEnd> seen() {
    const std::lock_guard lock(mutex);
    return ends;
  }
  // A client may have its answer a moment before the passage is recorded.
  std::vector<PassageEnd> seen_soon(size_t count) {
    for (int i = 0; i < 2000 && seen().size() < count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return seen();
  }

  std::vector<std::shared_ptr<Upstream>> upstreams;
  std::chrono::milliseconds answer_time{10'000};
  bool repeatable = false;

 private:
  std::mutex mutex;
  std::vector<PassageEnd> ends;
};

}  // namespace slipway::http
