// For tests: operations by what they do.
#pragma once

#include <string>
#include <utility>

#include "data/definition.h"

namespace slipway::data {

inline Operation taking(uint64_t count) {
  Operation operation;
  operation.count = count;
  return operation;
}
inline Operation skipping(uint64_t count) {
  Operation operation = taking(count);
  operation.kind = OperationKind::kSkip;
  return operation;
}
inline Operation matching(std::string pattern) {
  Operation operation;
  operation.kind = OperationKind::kFilter;
  operation.pattern = std::move(pattern);
  return operation;
}

}  // namespace slipway::data
