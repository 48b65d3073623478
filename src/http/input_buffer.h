// Bytes that have come and are not yet used. Holds no memory while empty, so that an idle connection is
// small; memory of the usual size goes round between the connections of a thread.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace slipway::http {

class InputBuffer {
 public:
  InputBuffer() = default;
  ~InputBuffer() { give_back(); }
  InputBuffer(const InputBuffer&) = delete;
  InputBuffer& operator=(const InputBuffer&) = delete;

  std::string_view bytes() const { return {data_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }

  void consume(size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // At least `count` writable bytes behind the present ones; `commit` says how many were filled.
  std::span<char> space(size_t count) {
    if (capacity_ - end_ < count) make_room(count);
    return {data_.get() + end_, capacity_ - end_};
  }
  void commit(size_t count) { end_ += count; }

  void release_if_empty() {
    if (!empty()) return;
    give_back();
    capacity_ = begin_ = end_ = 0;
  }

 private:
  void make_room(size_t count) {
    const size_t held = end_ - begin_;
    if (capacity_ < held + count) {
      const size_t grown = std::max(held + count, capacity_ * 2);
      std::unique_ptr<char[]> fresh = grown == kUsual ? spare_block() : nullptr;
      if (!fresh) fresh = std::make_unique_for_overwrite<char[]>(grown);
      if (held > 0) std::memcpy(fresh.get(), data_.get() + begin_, held);
      give_back();
      data_ = std::move(fresh);
      capacity_ = grown;
    } else if (begin_ > 0) {
      std::memmove(data_.get(), data_.get() + begin_, held);
    }
    begin_ = 0;
    end_ = held;
  }

  static constexpr size_t kUsual = 8 << 10;

  // input_buffer.cc: blocks of kUsual that this thread has over; null when there is none.
  static std::unique_ptr<char[]> spare_block();
  static void keep_block(std::unique_ptr<char[]> block);

  void give_back() {
    if (capacity_ == kUsual) keep_block(std::move(data_));
    data_.reset();
  }

  std::unique_ptr<char[]> data_;
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace slipway::http
