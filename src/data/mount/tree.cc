#include "data/mount/tree.h"

#include <algorithm>
#include <ranges>
#include <unordered_map>

namespace slipway::data {
namespace {

std::string_view folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

MountTree::MountTree(std::span<const File> files) {
  std::unordered_map<std::string_view, uint32_t> folders{{std::string_view(), 0}};
  nodes_.reserve(files.size() + 1);
  nodes_.push_back({});
  const auto folder_node = [&](std::string_view path) {
    // Up to the first folder that is known, then down again: paths are as deep as they please.
    std::vector<std::string_view> missing;
    for (; !folders.contains(path); path = folder_of(path)) missing.push_back(path);
    uint32_t parent = folders.at(path);
    for (const std::string_view folder : std::views::reverse(missing)) {
      const auto made = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({.name = name_of(folder), .parent = parent});
      folders.emplace(folder, made);
      parent = made;
    }
    return parent;
  };
  for (uint32_t index = 0; index < files.size(); ++index) {
    const std::string_view path = files[index].path;
    const uint32_t parent = folder_node(folder_of(path));
    nodes_.push_back({.name = name_of(path), .parent = parent, .file = index});
  }
  gather_children();
}

void MountTree::gather_children() {
  for (size_t node = 1; node < nodes_.size(); ++node) ++nodes_[nodes_[node].parent].child_count;
  uint32_t begin = 0;
  for (Node& node : nodes_) {
    node.first_child = begin;
    begin += node.child_count;
    node.child_count = 0;
  }
  children_.resize(begin);
  for (uint32_t node = 1; node < nodes_.size(); ++node) {
    Node& parent = nodes_[nodes_[node].parent];
    children_[parent.first_child + parent.child_count++] = node;
  }
  for (const Node& node : nodes_)
    std::ranges::sort(std::span(children_).subspan(node.first_child, node.child_count), {},
                      [this](uint32_t child) { return nodes_[child].name; });
}

std::optional<uint64_t> MountTree::find(uint64_t folder, std::string_view name) const {
  const Node& node = at(folder);
  const auto children = std::span(children_).subspan(node.first_child, node.child_count);
  const auto found =
      std::ranges::lower_bound(children, name, {}, [this](uint32_t child) { return nodes_[child].name; });
  if (found == children.end() || nodes_[*found].name != name) return std::nullopt;
  return *found + kRoot;
}

}  // namespace slipway::data
