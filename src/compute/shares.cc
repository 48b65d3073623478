#include "compute/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace slipway::compute {

namespace {

int64_t to_milli(double cpus) {
  return std::llround(cpus * 1000);
}

double fraction(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace

Amount& Amount::operator+=(const Amount& other) {
  milli_cpus += other.milli_cpus;
  memory_bytes += other.memory_bytes;
  gpus += other.gpus;
  return *this;
}

Amount& Amount::operator-=(const Amount& other) {
  milli_cpus -= other.milli_cpus;
  memory_bytes -= other.memory_bytes;
  gpus -= other.gpus;
  return *this;
}

bool Amount::fits_in(const Amount& room) const {
  return milli_cpus <= room.milli_cpus && memory_bytes <= room.memory_bytes && gpus <= room.gpus;
}

Amount to_amount(const NodeCapacity& capacity) {
  return {to_milli(capacity.cpus), static_cast<int64_t>(capacity.memory_bytes), capacity.gpus};
}

Amount to_amount(const Resources& resources) {
  return {to_milli(resources.cpus), static_cast<int64_t>(resources.memory_bytes), resources.gpus};
}

Resources to_resources(const Amount& amount) {
  return {.cpus = static_cast<double>(amount.milli_cpus) / 1000,
          .memory_bytes = static_cast<uint64_t>(std::max<int64_t>(amount.memory_bytes, 0)),
          .gpus = amount.gpus};
}

std::string cpus_text(int64_t milli_cpus) {
  return fmt::format("{} CPU{}", static_cast<double>(milli_cpus) / 1000, milli_cpus == 1000 ? "" : "s");
}

std::string memory_text(int64_t memory_bytes) {
  constexpr int64_t kMebibyte = 1 << 20;
  constexpr int64_t kGibibyte = 1 << 30;
  if (memory_bytes < kMebibyte) return fmt::format("{} bytes", memory_bytes);
  if (memory_bytes < kGibibyte) return fmt::format("{} MiB", memory_bytes / kMebibyte);
  const double gibibytes = static_cast<double>(memory_bytes) / kGibibyte;
  return fmt::format("{:.{}f} GiB", gibibytes, memory_bytes % kGibibyte == 0 ? 0 : 1);
}

std::string gpus_text(int gpus) {
  return fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s");
}

std::string to_text(const Amount& amount) {
  const std::string cpus = cpus_text(amount.milli_cpus);
  const std::string memory = memory_text(amount.memory_bytes);
  if (amount.gpus == 0) return fmt::format("{} and {}", cpus, memory);
  return fmt::format("{}, {} and {}", cpus, memory, gpus_text(amount.gpus));
}

bool asks_for_whole_node(const Resources& asked) {
  return asked.cpus <= 0 && asked.memory_bytes == 0 && asked.gpus == 0;
}

Amount share_of(const Resources& asked, const Amount& node) {
  if (asks_for_whole_node(asked)) return node;
  Amount share = to_amount(asked);
  const double part = std::min(
      1.0,
      std::max({fraction(asked.cpus * 1000, static_cast<double>(node.milli_cpus)),
                fraction(static_cast<double>(asked.memory_bytes), static_cast<double>(node.memory_bytes)),
                fraction(asked.gpus, node.gpus)}));
  if (asked.cpus <= 0) share.milli_cpus = static_cast<int64_t>(part * static_cast<double>(node.milli_cpus));
  if (asked.memory_bytes == 0)
    share.memory_bytes = static_cast<int64_t>(part * static_cast<double>(node.memory_bytes));
  share.milli_cpus = std::max<int64_t>(share.milli_cpus, 1);
  share.memory_bytes = std::max<int64_t>(share.memory_bytes, 1);
  return share;
}

}  // namespace slipway::compute
