#ifndef VENDOR_DRIVER_DEVICE_H_
#define VENDOR_DRIVER_DEVICE_H_

// One device, with its memories and its stream.

#include <cstddef>
#include <vector>

#include "backend/device.h"
#include "generated/config.h"
#include "vendor/driver/memory.h"
#include "vendor/driver/stream.h"

namespace PJRT_PLUGIN_NS::vendor {

class Device final : public backend::Device {
 public:
  Device(int id, int process_index, size_t memory_bytes);

  const backend::DeviceInfo& info() const override { return info_; }
  std::span<backend::Memory* const> memories() const override { return listed_; }
  backend::Stream& stream() override { return stream_; }

 private:
  const backend::DeviceInfo info_;
  Memory device_memory_;
  Memory pinned_host_;
  Memory unpinned_host_;
  const std::vector<backend::Memory*> listed_;
  Stream stream_;
};

}  // namespace PJRT_PLUGIN_NS::vendor

#endif  // VENDOR_DRIVER_DEVICE_H_
