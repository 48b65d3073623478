#include "compute/engines/slurm/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "http/address.h"

namespace slipway::compute {
namespace {

constexpr size_t kLongestName = 256;
constexpr size_t kLongestPath = 1024;

// A name of Slurm's. It goes into a JSON document or, as one argument, to sbatch: never to a shell.
Status check_word(const std::string& word, std::string_view what) {
  const auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-,").contains(c);
  };
  if (word.size() <= kLongestName && !word.starts_with('-') && std::ranges::all_of(word, fine)) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no {} of Slurm", word.substr(0, 64), what),
              "a name has letters, digits, '.', '_' and '-'");
}

Status check_folder(const std::string& path, std::string_view what) {
  if (path.empty()) return {};
  const bool odd = std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (path.starts_with('/') && path.size() <= kLongestPath && !odd) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("the {} folder is not an absolute path", what),
              "such as /home/shared/slipway");
}

Status check_url(const std::string& url, std::string_view what) {
  if (auto address = http::parse_address(url); !address)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", what, address.error().message),
                "write it as unix:/run/slurmrestd.sock or http://host:6820");
  return {};
}

}  // namespace

Status check(const SlurmSettings& settings) {
  if (settings.endpoint != kSlurmCommands) SLIPWAY_TRY(check_url(settings.endpoint, "the endpoint of Slurm"));
  if (!settings.server_url.empty()) {
    SLIPWAY_TRY(check_url(settings.server_url, "the address of this server"));
    if (settings.server_url.starts_with("unix:"))
      return fail(ErrorCode::kInvalidArgument, "nodes cannot reach this server by a Unix socket",
                  "give an address: http://this-host:7070");
  }
  SLIPWAY_TRY(check_word(settings.user, "user"));
  SLIPWAY_TRY(check_word(settings.partition, "partition"));
  SLIPWAY_TRY(check_word(settings.low_partition, "partition"));
  SLIPWAY_TRY(check_word(settings.account, "account"));
  SLIPWAY_TRY(check_folder(settings.shared, "shared"));
  return check_folder(settings.scratch, "scratch");
}

json::object to_json(const SlurmSettings& settings) {
  return {{"endpoint", settings.endpoint},   {"user", settings.user},
          {"partition", settings.partition}, {"low_partition", settings.low_partition},
          {"account", settings.account},     {"shared", settings.shared},
          {"scratch", settings.scratch},     {"server_url", settings.server_url}};
}

Status read_slurm_settings(const json::object& object, SlurmSettings& settings) {
  JsonFields fields(object, "the settings of Slurm");
  fields.optional("endpoint", settings.endpoint);
  fields.optional("user", settings.user);
  fields.optional("partition", settings.partition);
  fields.optional("low_partition", settings.low_partition);
  fields.optional("account", settings.account);
  fields.optional("shared", settings.shared);
  fields.optional("scratch", settings.scratch);
  fields.optional("server_url", settings.server_url);
  return fields.finish();
}

}  // namespace slipway::compute
