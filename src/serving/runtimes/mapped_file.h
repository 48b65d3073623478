// A file's content in memory without reading it: for model files of gigabytes of which a few bytes matter.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace slipway::serving {

class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat about{};
    if (!fd || ::fstat(fd.get(), &about) != 0)
      return fail(ErrorCode::kNotFound, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    if (!S_ISREG(about.st_mode))
      return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not a file", path));
    MappedFile file;
    file.size_ = static_cast<size_t>(about.st_size);
    if (file.size_ == 0) return file;
    file.data_ = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (file.data_ == MAP_FAILED) {
      file.data_ = nullptr;
      return fail(errno_error(errno, fmt::format("map {}", path)));
    }
    return file;
  }
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }

  std::string_view bytes() const { return {static_cast<const char*>(data_), data_ == nullptr ? 0 : size_}; }

 private:
  MappedFile() = default;
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace slipway::serving
