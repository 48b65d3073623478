// Addresses of files on web servers: taken apart strictly, so that what was checked is what is asked.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway::data {

struct Url {
  bool secure = false;
  std::string host = {};    // lower case; an IPv6 address in its brackets
  std::string port = {};    // digits
  std::string target = {};  // path and query as they stand in a request: "/a/b?x=1"

  // "https://host:8443"; the scheme's own port is left out.
  std::string server() const;
  // For messages: without the query, which may hold a secret.
  std::string shown() const;
  bool operator==(const Url&) const = default;
};

bool is_url(std::string_view text);  // begins with "http://" or "https://"

// kInvalidArgument, saying why, for other schemes, for user and password in the address, for control
// characters and for more than 8000 characters. What may not stand in a request (blanks, letters beyond
// ASCII) is percent-encoded; a fragment is dropped.
Result<Url> parse_url(std::string_view text);

// Where a redirect leads. kInvalidArgument for another scheme than http and https, and from https to http.
Result<Url> follow_redirect(const Url& from, std::string_view location);

// The base name, decoded where that gives a name a file may have; "index" when there is none.
std::string file_name_of(const Url& url);
// Host and path, decoded likewise: "host/a/b.gz", "host_8080/a". Always a clean relative path.
std::string layout_of(const Url& url);

// `path`, percent-encoded as needed, behind the URL's own path, which then ends in '/'; its query is kept.
Url below(const Url& base, std::string_view path);

}  // namespace slipway::data
