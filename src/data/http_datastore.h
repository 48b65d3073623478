// A web server's folder as a datastore: files are read, not listed and not written.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "data/datastore.h"
#include "data/http_files.h"

namespace slipway::data {

class HttpDatastore final : public Datastore {
 public:
  // Paths are taken below `base`.
  HttpDatastore(Url base, SecretHeaders credentials)
      : base_(std::move(base)), credentials_(std::move(credentials)) {}

  SourceKind kind() const override { return SourceKind::kHttp; }
  Result<Page> list(const ListRequest& request) override;
  Result<Object> stat(const std::string& path) override;
  Result<Object> read(const std::string& path, const Range& range, const std::string& tag,
                      const Sink& sink) override;
  Result<Object> write(const std::string& path, const Pieces& pieces, bool overwrite) override;

 private:
  // Connections are kept between calls; each call has one set to itself.
  std::unique_ptr<HttpFiles> take();
  void give_back(std::unique_ptr<HttpFiles> files);

  const Url base_;
  const SecretHeaders credentials_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpFiles>> idle_;
};

}  // namespace slipway::data
