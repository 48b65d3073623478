// The NVIDIA GPUs of this machine, asked of the driver's own library (NVML), which is loaded when it is
// there. No GPU, no driver or a driver that fails: an empty list, never an error.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace slipway::compute {

struct Gpu {
  int index = 0;  // as CUDA_VISIBLE_DEVICES counts with CUDA_DEVICE_ORDER=PCI_BUS_ID
  std::string name;
  std::string uuid;
  uint64_t memory_bytes = 0;
};

struct GpuSample {
  int index = 0;
  int utilisation_percent = 0;
  uint64_t memory_used_bytes = 0;
  uint64_t memory_total_bytes = 0;
};

// Holds the library open. Thread-safe, since NVML is.
class GpuMonitor {
 public:
  // `library`: another one for tests.
  explicit GpuMonitor(const char* library = "libnvidia-ml.so.1");
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  std::vector<Gpu> list() const;
  // Those of `indices` that answer.
  std::vector<GpuSample> sample(std::span<const int> indices) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;  // null: no driver here
};

}  // namespace slipway::compute
