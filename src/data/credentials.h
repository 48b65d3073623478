// What lets Slipway into a datastore. Shown to nobody once it is stored: it leaves the server in two ways
// only, to the datastore's own server and to the agent of a run that reads from it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"
#include "data/http_files.h"

namespace slipway::data {

// One line: "bearer TOKEN", "basic USER:PASSWORD" or "header NAME: VALUE". The errors never repeat it.
Result<SecretHeaders> parse_credentials(const Secret& text);
// "bearer", "basic" or "header": all that is told about stored ones.
Result<std::string> credentials_kind(const Secret& text);

// Seals secrets for the metadata store (AES-256-GCM), so that a copy of the database alone gives nothing
// away. The key is a file of its own in the home, 0600, made when it is first needed. Safe from any thread.
class Seal {
 public:
  explicit Seal(std::filesystem::path key_file) : key_file_(std::move(key_file)) {}

  // `about` is bound to it: what was sealed for one datastore cannot be opened as another's.
  Result<std::string> close(const Secret& secret, std::string_view about) const;
  // kInternal when the key is another or the text was changed.
  Result<Secret> open(std::string_view sealed, std::string_view about) const;

 private:
  Result<Secret> key() const;

  std::filesystem::path key_file_;
};

}  // namespace slipway::data
