// Who may use a model service: whoever has one of its keys.
#pragma once

#include <vector>

#include "base/secret.h"
#include "http/access.h"

namespace slipway::serving {

class KeyAuthoriser final : public http::Authoriser {
 public:
  // Without keys everyone may.
  explicit KeyAuthoriser(std::vector<Secret> keys) : keys_(std::move(keys)) {}

  // From `Authorization: Bearer KEY` alone; compared in constant time. kUnauthenticated otherwise.
  Result<http::Caller> authorise(const http::Request& request, http::Access needed) override;

 private:
  const std::vector<Secret> keys_;
};

}  // namespace slipway::serving
