#include "http/router.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace slipway::http {
namespace {

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> segments;
  path.remove_prefix(1);
  for (;;) {
    const size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

bool is_parameter(std::string_view segment) {
  return segment.starts_with('{') && segment.ends_with('}');
}
bool is_rest(std::string_view segment) {
  return is_parameter(segment) && segment.ends_with("...}");
}
std::string parameter_name(std::string_view segment) {
  return std::string(segment.substr(1, segment.size() - (is_rest(segment) ? 5 : 2)));
}

Result<std::vector<std::string>> decode_path(std::string_view path) {
  if (!path.starts_with('/'))
    return fail(ErrorCode::kInvalidArgument, "the path of the request does not begin with '/'");
  std::vector<std::string> segments;
  for (const std::string_view segment : split_path(path)) {
    SLIPWAY_ASSIGN(std::string decoded, percent_decode(segment, false));
    segments.push_back(std::move(decoded));
  }
  return segments;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Router::add(std::vector<Route> routes) {
  for (Route& route : routes) add(std::move(route));
}

void Router::add(Route route) {
  if (!route.pattern.starts_with('/'))
    abort_because(fmt::format("route '{}' does not begin with '/'", route.pattern));
  size_t node = 0;
  bool rest = false;
  for (const std::string_view segment : split_path(route.pattern)) {
    if (rest) abort_because(fmt::format("route '{}' goes on behind its {{...}}", route.pattern));
    if (is_rest(segment)) {
      rest = true;
      continue;
    }
    size_t next = 0;
    if (is_parameter(segment)) {
      next = nodes_[node].parameter;
      if (next == 0) nodes_[node].parameter = next = nodes_.size();
    } else {
      next = nodes_[node].literals.try_emplace(std::string(segment), nodes_.size()).first->second;
    }
    if (next == nodes_.size()) nodes_.emplace_back();
    node = next;
  }
  auto& place = rest ? nodes_[node].rest : nodes_[node].here;
  for (const size_t other : place)
    if (routes_[other].method == route.method)
      abort_because(fmt::format("routes '{}' and '{}' are the same", routes_[other].pattern, route.pattern));
  place.push_back(routes_.size());
  routes_.push_back(std::move(route));
}

// Literals first, then a parameter, then the nearest {name...}; a branch that leads nowhere is left again.
Router::Found Router::walk(size_t node, const std::vector<std::string>& segments, size_t depth) const {
  const Node& here = nodes_[node];
  if (depth == segments.size()) return {here.here.empty() ? nullptr : &here.here, depth};
  const std::string& segment = segments[depth];
  if (const auto literal = here.literals.find(segment); literal != here.literals.end())
    if (const Found found = walk(literal->second, segments, depth + 1); found.routes != nullptr) return found;
  if (here.parameter != 0 && !segment.empty())
    if (const Found found = walk(here.parameter, segments, depth + 1); found.routes != nullptr) return found;
  if (!here.rest.empty() && !segment.empty()) return {&here.rest, depth};
  return {};
}

Match Router::match_of(const Route& route, const Found& found,
                       const std::vector<std::string>& segments) const {
  Match match{&route, {}};
  size_t index = 0;
  for (const std::string_view segment : split_path(route.pattern)) {
    if (is_rest(segment)) {
      std::string rest = segments[found.rest_from];
      for (size_t i = found.rest_from + 1; i < segments.size(); ++i) rest += "/" + segments[i];
      match.params.emplace(parameter_name(segment), std::move(rest));
    } else if (is_parameter(segment)) {
      match.params.emplace(parameter_name(segment), segments[index]);
    }
    ++index;
  }
  return match;
}

Result<Match> Router::find(Method method, std::string_view path, std::vector<Method>* allowed) const {
  SLIPWAY_ASSIGN(const std::vector<std::string> segments, decode_path(path));
  const Found found = walk(0, segments, 0);
  if (found.routes == nullptr)
    return fail(ErrorCode::kNotFound, "there is nothing at this path",
                "the API is described in api/openapi.yaml");
  const Route* get = nullptr;
  for (const size_t index : *found.routes) {
    const Route& route = routes_[index];
    if (route.method == method) return match_of(route, found, segments);
    if (route.method == Method::kGet) get = &route;
  }
  if (method == Method::kHead && get != nullptr) return match_of(*get, found, segments);
  if (allowed != nullptr) *allowed = methods_at(path);
  return fail(ErrorCode::kUnsupported, fmt::format("this path does not take {}", to_text(method)));
}

std::vector<Method> Router::methods_at(std::string_view path) const {
  std::vector<Method> methods;
  const auto segments = decode_path(path);
  if (!segments) return methods;
  const Found found = walk(0, *segments, 0);
  if (found.routes == nullptr) return methods;
  for (const size_t index : *found.routes) methods.push_back(routes_[index].method);
  const bool get = std::ranges::count(methods, Method::kGet) > 0;
  if (get && std::ranges::count(methods, Method::kHead) == 0) methods.push_back(Method::kHead);
  std::ranges::sort(methods);
  return methods;
}

Result<std::string> percent_decode(std::string_view text, bool plus_is_blank) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_blank) {
      c = ' ';
    } else if (c == '%') {
      const int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return fail(ErrorCode::kInvalidArgument,
                    "the address has a '%' that is not followed by two hexadecimal digits",
                    "write a percent sign as %25");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return fail(ErrorCode::kInvalidArgument, "the address has a NUL character");
    decoded += c;
  }
  return decoded;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kHex[byte >> 4];
    encoded += kHex[byte & 15];
  }
  return encoded;
}

Result<std::map<std::string, std::string>> parse_query(std::string_view query) {
  std::map<std::string, std::string> values;
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    SLIPWAY_ASSIGN(std::string name, percent_decode(pair.substr(0, equals), true));
    std::string value;
    if (equals != std::string_view::npos) {
      SLIPWAY_ASSIGN(value, percent_decode(pair.substr(equals + 1), true));
    }
    values.insert_or_assign(std::move(name), std::move(value));
  }
  return values;
}

}  // namespace slipway::http
