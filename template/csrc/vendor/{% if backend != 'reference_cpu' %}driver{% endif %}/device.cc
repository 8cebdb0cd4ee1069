#include "vendor/driver/device.h"

#include <string>

namespace PJRT_PLUGIN_NS::vendor {
namespace {

// VENDOR: `kind` is part of the key of compilation caches: two devices of one kind run each other's
// programs. Attributes become attributes of jax.Device; JAX itself reads coords, core_on_chip,
// slice_index and num_cores where they exist.
backend::DeviceInfo MakeInfo(int id, int process_index) {
  const std::string name = std::string(kPlatformName) + ":" + std::to_string(id);
  return {
      .id = id,
      .local_hardware_id = id,
      .process_index = process_index,
      .kind = std::string(kVendor) + " skeleton",
      .debug_string = name + " (process " + std::to_string(process_index) + ", skeleton)",
      .to_string = name,
      .attributes = {},
  };
}

constexpr int kMemoriesPerDevice = 3;

// VENDOR: host_accessible says that host code may follow addresses of this memory. Frameworks then
// read arrays in place instead of through the stream, so it is false for what only the device can
// reach.
backend::MemoryInfo MakeMemory(const backend::DeviceInfo& device, int index, std::string_view kind,
                               bool host_accessible) {
  return {
      .id = device.id * kMemoriesPerDevice + index,
      .kind = std::string(kind),
      .host_accessible = host_accessible,
      .debug_string = device.to_string + " " + std::string(kind) + " memory",
  };
}

}  // namespace

Device::Device(int id, int process_index, size_t memory_bytes)
    : info_(MakeInfo(id, process_index)),
      device_memory_(MakeMemory(info_, 0, backend::kDeviceMemoryKind, false), this, memory_bytes),
      pinned_host_(MakeMemory(info_, 1, backend::kPinnedHostMemoryKind, true), this, 0),
      unpinned_host_(MakeMemory(info_, 2, backend::kUnpinnedHostMemoryKind, true), this, 0),
      listed_{&device_memory_, &pinned_host_, &unpinned_host_} {}

}  // namespace PJRT_PLUGIN_NS::vendor
