#include "node/process_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "base/file.h"

namespace slipway::node {

uint64_t resident_bytes(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/statm", pid), 4096);
  const size_t blank = text ? text->find(' ') : std::string::npos;
  if (blank == std::string::npos) return 0;
  uint64_t pages = 0;
  std::from_chars(text->data() + blank + 1, text->data() + text->size(), pages);
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace slipway::node
