#include "compute/gpu.h"

#include <dlfcn.h>

#include <array>

namespace slipway::compute {

namespace {

// The part of NVML's interface that is used here; it has been stable for a decade.
using NvmlReturn = int;  // 0: success
using NvmlDevice = void*;
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct NvmlUtilization {
  unsigned int gpu;
  unsigned int memory;
};
constexpr NvmlReturn kSuccess = 0;

}  // namespace

struct GpuMonitor::Library {
  void* handle = nullptr;
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shutdown)() = nullptr;
  NvmlReturn (*count)(unsigned int*) = nullptr;
  NvmlReturn (*device)(unsigned int, NvmlDevice*) = nullptr;
  NvmlReturn (*name)(NvmlDevice, char*, unsigned int) = nullptr;
  NvmlReturn (*uuid)(NvmlDevice, char*, unsigned int) = nullptr;
  NvmlReturn (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  NvmlReturn (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
  bool ready = false;

  explicit Library(const char* file) : handle(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr) return;
    ready = bind("nvmlInit_v2", init) && bind("nvmlShutdown", shutdown) &&
            bind("nvmlDeviceGetCount_v2", count) && bind("nvmlDeviceGetHandleByIndex_v2", device) &&
            bind("nvmlDeviceGetName", name) && bind("nvmlDeviceGetUUID", uuid) &&
            bind("nvmlDeviceGetMemoryInfo", memory) && bind("nvmlDeviceGetUtilizationRates", utilization) &&
            init() == kSuccess;
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (ready) shutdown();
    if (handle != nullptr) ::dlclose(handle);
  }

  template <class Function>
  bool bind(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle, symbol));
    return function != nullptr;
  }
};

GpuMonitor::GpuMonitor(const char* library) {
  auto loaded = std::make_unique<Library>(library);
  if (loaded->ready) library_ = std::move(loaded);
}

GpuMonitor::~GpuMonitor() = default;

std::vector<Gpu> GpuMonitor::list() const {
  std::vector<Gpu> gpus;
  unsigned int count = 0;
  if (!library_ || library_->count(&count) != kSuccess) return gpus;
  for (unsigned int index = 0; index < count; ++index) {
    NvmlDevice device = nullptr;
    if (library_->device(index, &device) != kSuccess) continue;  // one that this process may not use
    std::array<char, 96> name{};
    std::array<char, 96> uuid{};
    NvmlMemory memory{};
    library_->name(device, name.data(), name.size());
    library_->uuid(device, uuid.data(), uuid.size());
    library_->memory(device, &memory);
    gpus.push_back({.index = static_cast<int>(index),
                    .name = name.data(),
                    .uuid = uuid.data(),
                    .memory_bytes = memory.total});
  }
  return gpus;
}

std::vector<GpuSample> GpuMonitor::sample(std::span<const int> indices) const {
  std::vector<GpuSample> samples;
  if (!library_) return samples;
  for (const int index : indices) {
    NvmlDevice device = nullptr;
    NvmlMemory memory{};
    NvmlUtilization utilization{};
    if (index < 0 || library_->device(static_cast<unsigned int>(index), &device) != kSuccess) continue;
    if (library_->memory(device, &memory) != kSuccess) continue;
    // A GPU that is split into instances has memory to tell of, but no utilisation.
    if (library_->utilization(device, &utilization) != kSuccess) utilization = {};
    samples.push_back({.index = index,
                       .utilisation_percent = static_cast<int>(utilization.gpu),
                       .memory_used_bytes = memory.used,
                       .memory_total_bytes = memory.total});
  }
  return samples;
}

}  // namespace slipway::compute
