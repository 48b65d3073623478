#include "data/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/file.h"
#include "base/utf8.h"
#include "data/shown.h"
#include "http/router.h"

namespace slipway::data {
namespace {

constexpr size_t kLongest = 8000;

std::unexpected<Error> bad(std::string_view text, std::string_view why) {
  std::string without_secrets(text.substr(0, text.find_first_of("?#")));
  const size_t user = without_secrets.find('@');
  if (user != std::string::npos) without_secrets = "..." + without_secrets.substr(user);
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' {}", shown(without_secrets), why),
              "write it as https://host/path/file");
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view default_port(bool secure) {
  return secure ? "443" : "80";
}

// A host of a name or of numbers: nothing that could end it and begin something else.
bool is_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    return !host.empty() && std::ranges::all_of(host, [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
    });
  }
  return !host.empty() && host.size() <= 253 && std::ranges::all_of(host, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_';
  });
}

bool is_port(std::string_view port) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return error == std::errc() && end == port.data() + port.size() && number > 0 && number <= 65535;
}

// What a request's target may not hold as it is.
std::string encode_target(std::string_view target) {
  std::string encoded;
  for (const char c : target) {
    const bool plain = c > 0x20 && c < 0x7f && !std::string_view("\"<>\\^`{|}").contains(c);
    if (plain) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string_view path_of(const Url& url) {
  return std::string_view(url.target).substr(0, url.target.find('?'));
}

// One segment of a path as the name of a file or folder; nullopt: it is none.
std::optional<std::string> name_from(std::string_view segment) {
  const auto decoded = http::percent_decode(segment, false);
  const auto is_name = [](std::string_view name) {
    return is_clean_relative_path(name) && !name.contains('/') && is_utf8(name) &&
           std::ranges::none_of(name,
                                [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  };
  if (decoded && is_name(*decoded)) return *decoded;
  if (is_name(segment)) return std::string(segment);
  return std::nullopt;
}

}  // namespace

bool is_url(std::string_view text) {
  std::string begin(text.substr(0, 8));
  std::ranges::transform(begin, begin.begin(), lower);
  return begin.starts_with("http://") || begin == "https://";
}

std::string Url::server() const {
  const std::string_view scheme = secure ? "https" : "http";
  if (port == default_port(secure)) return fmt::format("{}://{}", scheme, host);
  return fmt::format("{}://{}:{}", scheme, host, port);
}

std::string Url::shown() const {
  return server() + std::string(path_of(*this));
}

Result<Url> parse_url(std::string_view text) {
  if (!is_url(text)) return bad(text, "is no address of a file: only http and https are read");
  if (text.size() > kLongest) return bad(text, "is longer than 8000 characters");
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return bad(text, "holds a control character");
  Url url;
  url.secure = lower(text[4]) == 's';
  std::string_view rest = text.substr(url.secure ? 8 : 7);
  rest = rest.substr(0, rest.find('#'));
  const size_t end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  if (authority.contains('@'))
    return fail(ErrorCode::kInvalidArgument, "an address with a user or a password in it is not taken",
                "add a datastore with credentials: slipway datastore add NAME --url URL "
                "--credentials-file FILE");
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  url.host = authority.substr(0, has_port ? colon : authority.size());
  std::ranges::transform(url.host, url.host.begin(), lower);
  url.port = has_port ? authority.substr(colon + 1) : default_port(url.secure);
  if (!is_host(url.host) || !is_port(url.port)) return bad(text, "has no host, or an odd one");
  url.target = encode_target(rest.substr(end));
  if (!url.target.starts_with('/')) url.target = "/" + url.target;
  if (url.target.size() > kLongest) return bad(text, "is longer than 8000 characters");
  return url;
}

Result<Url> follow_redirect(const Url& from, std::string_view location) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is redirected {}", from.shown(), why),
                "name the file's own address, if you trust it");
  };
  std::string whole(location);
  const size_t colon = whole.find_first_of(":/?#");
  const bool has_scheme = colon != std::string::npos && colon > 0 && whole[colon] == ':';
  if (whole.starts_with("//")) {
    whole = (from.secure ? "https:" : "http:") + whole;
  } else if (!has_scheme) {
    const std::string_view path = path_of(from);
    if (whole.starts_with('/')) {
      whole = from.server() + whole;
    } else {
      whole = from.server() + std::string(path.substr(0, path.rfind('/') + 1)) + whole;
    }
  } else if (!is_url(whole)) {
    return refuse("to another scheme than http and https, which is not followed");
  }
  auto to = parse_url(whole);
  if (!to) return refuse("to an address that cannot be read");
  if (from.secure && !to->secure) return refuse("from https to http, which is not followed");
  return to;
}

std::string file_name_of(const Url& url) {
  const std::string_view path = path_of(url);
  return name_from(path.substr(path.rfind('/') + 1)).value_or("index");
}

std::string layout_of(const Url& url) {
  std::string layout = url.host;
  std::erase_if(layout, [](char c) { return c == '[' || c == ']'; });
  std::ranges::replace(layout, ':', '_');
  if (layout == "." || layout == "..") layout = "host";
  if (url.port != default_port(url.secure)) layout += "_" + url.port;
  std::string_view path = path_of(url);
  path.remove_prefix(1);
  while (path.contains('/')) {
    if (const auto name = name_from(path.substr(0, path.find('/')))) layout += "/" + *name;
    path.remove_prefix(path.find('/') + 1);
  }
  return layout + "/" + file_name_of(url);
}

Url below(const Url& base, std::string_view path) {
  Url url = base;
  std::string target(path_of(base));
  if (!target.ends_with('/')) target += '/';
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    target += http::percent_encode(path.substr(0, slash));
    if (slash < path.size()) target += '/';
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  url.target = target + base.target.substr(path_of(base).size());
  return url;
}

}  // namespace slipway::data
