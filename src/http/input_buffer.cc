#include "http/input_buffer.h"

#include <vector>

namespace slipway::http {
namespace {

constexpr size_t kBlocksKept = 64;

thread_local std::vector<std::unique_ptr<char[]>> blocks;

}  // namespace

std::unique_ptr<char[]> InputBuffer::spare_block() {
  if (blocks.empty()) return nullptr;
  std::unique_ptr<char[]> block = std::move(blocks.back());
  blocks.pop_back();
  return block;
}

void InputBuffer::keep_block(std::unique_ptr<char[]> block) {
  if (blocks.size() < kBlocksKept) blocks.push_back(std::move(block));
}

}  // namespace slipway::http
