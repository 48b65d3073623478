// Strong identifiers: a RunId cannot be passed where a NodeId is meant. They hold checked text, so that code
// which receives one need not look at it again.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway {

template <class Tag>
class Id {
 public:
  Id() = default;
  explicit Id(std::string value) : value_(std::move(value)) {}

  const std::string& str() const { return value_; }
  bool empty() const { return value_.empty(); }
  auto operator<=>(const Id&) const = default;

 private:
  std::string value_;
};

using RunId = Id<struct RunTag>;      // "digits-x7k2mq9w": experiment, dash, 8 random characters
using NodeId = Id<struct NodeTag>;    // "cpu-cluster-3f9a": cluster, dash, 4 or more random characters
using TokenId = Id<struct TokenTag>;  // the public part of a token
using WorkspaceName = Id<struct WorkspaceTag>;
using ExperimentName = Id<struct ExperimentTag>;
using ClusterName = Id<struct ClusterTag>;

// The rule for every name a user gives: it starts with a letter or digit and has up to `max` letters, digits,
// '-', '_' and '.'. `what` stands in the message: "cluster".
Status check_name(std::string_view name, std::string_view what, size_t max = 64);

template <class IdType>
Result<IdType> parse_name(std::string_view text, std::string_view what, size_t max = 64) {
  SLIPWAY_TRY(check_name(text, what, max));
  return IdType(std::string(text));
}

}  // namespace slipway

template <class Tag>
struct std::hash<slipway::Id<Tag>> {
  size_t operator()(const slipway::Id<Tag>& id) const noexcept { return std::hash<std::string>{}(id.str()); }
};

template <class Tag>
struct fmt::formatter<slipway::Id<Tag>> : fmt::formatter<std::string_view> {
  auto format(const slipway::Id<Tag>& id, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(id.str(), context);
  }
};
