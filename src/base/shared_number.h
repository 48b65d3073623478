// A number that a child can write and its parent reads, whether they share their memory (vfork) or not (clone
// without CLONE_VM, and vfork under sanitizers, which make a plain fork of it).
#pragma once

#include <sys/mman.h>

namespace slipway {

class SharedNumber {
 public:
  SharedNumber() {
    void* page = ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) number_ = static_cast<volatile int*>(page);
  }
  ~SharedNumber() {
    if (number_ != &fallback_) ::munmap(const_cast<int*>(number_), sizeof(int));
  }
  SharedNumber(const SharedNumber&) = delete;
  SharedNumber& operator=(const SharedNumber&) = delete;
  volatile int* get() { return number_; }

 private:
  volatile int fallback_ = 0;
  volatile int* number_ = &fallback_;
};

}  // namespace slipway
