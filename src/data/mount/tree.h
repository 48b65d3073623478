// A manifest's files as a tree of folders, for those who walk it by names and numbers. Nodes are numbered
// from kRoot on, which is the dataset's folder itself, and never change.
//
// Holds no copy of a path: the files outlive it. Safe to read from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "data/manifest.h"

namespace slipway::data {

class MountTree {
 public:
  static constexpr uint64_t kRoot = 1;

  explicit MountTree(std::span<const File> files);

  bool contains(uint64_t node) const { return node >= kRoot && node < nodes_.size() + kRoot; }
  bool is_folder(uint64_t node) const { return at(node).file == kNone; }
  // Of a file's node: its place in `files`.
  uint32_t file(uint64_t node) const { return at(node).file; }
  std::string_view name(uint64_t node) const { return at(node).name; }
  uint64_t parent(uint64_t node) const { return at(node).parent + kRoot; }

  // In the order of their names.
  size_t child_count(uint64_t node) const { return at(node).child_count; }
  uint64_t child(uint64_t node, size_t index) const {
    return children_[at(node).first_child + index] + kRoot;
  }
  std::optional<uint64_t> find(uint64_t folder, std::string_view name) const;

  size_t size() const { return nodes_.size(); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Node {
    std::string_view name;
    uint32_t parent = 0;
    uint32_t file = kNone;
    uint32_t first_child = 0;
    uint32_t child_count = 0;
  };
  const Node& at(uint64_t node) const { return nodes_[node - kRoot]; }
  void gather_children();

  std::vector<Node> nodes_;
  std::vector<uint32_t> children_;
};

}  // namespace slipway::data
