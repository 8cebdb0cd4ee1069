#ifndef TESTING_ACCELERATOR_DEVICES_H_
#define TESTING_ACCELERATOR_DEVICES_H_

// Devices: those of the accelerator, what they share, and which of the backend underneath stands
// behind each.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "backend/driver.h"
#include "generated/config.h"
#include "testing/accelerator/control.h"
#include "testing/accelerator/memory.h"
#include "testing/accelerator/queues.h"

namespace PJRT_PLUGIN_NS::accelerator {

class Device final : public backend::Device {
 public:
  // `place`: its queue's. All that is pointed to outlives the device.
  Device(backend::Device* inner, size_t place, Queues* queues,
         const std::shared_ptr<Control>& control);
  ~Device() override;

  const backend::DeviceInfo& info() const override { return inner_->info(); }
  std::span<backend::Memory* const> memories() const override { return pointers_; }
  backend::Stream& stream() override { return *stream_; }

  backend::Device* inner() const { return inner_; }
  size_t place() const { return place_; }
  // Null when there is none.
  Memory* FindMemory(std::string_view kind) const;

 private:
  backend::Device* const inner_;
  const size_t place_;
  std::vector<std::unique_ptr<Memory>> memories_;
  std::vector<backend::Memory*> pointers_;
  std::unique_ptr<backend::Stream> stream_;
};

}  // namespace PJRT_PLUGIN_NS::accelerator

#endif  // TESTING_ACCELERATOR_DEVICES_H_
