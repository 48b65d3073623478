// Keeps names and shapes in place for the C structs that point to them.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "serving/runtimes/slipway_runtime.h"

namespace slipway::serving {

class SpecList {
 public:
  // `rank` -1: any, and `shape` is empty.
  void add(std::string name, int32_t type, int32_t rank, std::vector<int64_t> shape) {
    names_.push_back(std::move(name));
    shapes_.push_back(std::move(shape));
    specs_.push_back(
        {.name = names_.back().c_str(), .type = type, .rank = rank, .shape = shapes_.back().data()});
  }
  const std::vector<SlipwayTensorSpec>& specs() const { return specs_; }
  const SlipwayTensorSpec& operator[](size_t index) const { return specs_[index]; }
  size_t size() const { return specs_.size(); }

 private:
  std::deque<std::string> names_;  // a deque does not move what it holds
  std::deque<std::vector<int64_t>> shapes_;
  std::vector<SlipwayTensorSpec> specs_;
};

}  // namespace slipway::serving
