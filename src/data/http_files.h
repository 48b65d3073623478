// Files of web servers: looked at and read in ranges, following redirects under the rules of url.h.
//
// What may be reached: http and https, any host but link-local addresses (169.254.0.0/16 and fe80::/10, where
// clouds keep their machines' credentials). Credentials go to the server they were given for and to no other,
// whatever redirects say.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "data/datastore.h"
#include "data/url.h"
#include "http/client.h"

namespace slipway::data {

// Headers that let a request in.
using SecretHeaders = std::vector<std::pair<std::string, Secret>>;

// "bytes 0-9/100" of a Content-Range: where the answer begins and how large the whole is.
struct ContentRange {
  uint64_t offset = 0;
  uint64_t size = 0;
};
Result<ContentRange> parse_content_range(std::string_view header);

// Keeps its connections. Not thread-safe; one for each thread.
class HttpFiles {
 public:
  HttpFiles() = default;
  // `server` as Url::server gives it.
  HttpFiles(std::string server, SecretHeaders credentials)
      : server_(std::move(server)), credentials_(std::move(credentials)) {}

  // Size and entity tag; a file whose server tells no size or no tag is read through for its digest. An
  // answer of 500 and more is asked for again, three times in all. kNotFound, kPermissionDenied and
  // kUnreachable, naming the address without its query.
  Result<Object> stat(const Url& url);

  // One try. `tag` and `range` as Datastore::read has them; servers that ignore ranges are read from the
  // beginning. kUnavailable for a connection that broke in the middle.
  Result<Object> read(const Url& url, const Range& range, const std::string& tag, const Sink& sink);

 private:
  // Sends the call to the file's last address; `on_head` sees answers that are no redirects.
  Result<http::ClientResponse> send(const Url& url, http::Call call);
  http::Client& client_of(const std::string& server);
  Result<Object> ask(const Url& url);
  Result<Object> ask_by_range(const Url& url);
  Result<Object> read_through(const Url& url);

  std::string server_;
  SecretHeaders credentials_;
  std::map<std::string, http::Client> clients_;
};

}  // namespace slipway::data
