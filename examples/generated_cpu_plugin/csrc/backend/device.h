#ifndef BACKEND_DEVICE_H_
#define BACKEND_DEVICE_H_

// Device: one accelerator, as jax.devices() lists it.

#include <span>
#include <string>
#include <vector>

#include "backend/attribute.h"
#include "backend/memory.h"
#include "backend/stream.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

struct DeviceInfo {
  int id = 0;                 // global: unique over all processes
  int local_hardware_id = 0;  // index among this process's devices; -1 for another process's device
  int process_index = 0;      // the process that owns it
  std::string kind;           // the model, for people and for jax's device_kind: "Acme 100"
  std::string debug_string;   // repr(): names platform, id and process
  std::string to_string;      // str(): "AcmeDevice(id=0)"
  std::vector<Attribute> attributes;  // free facts: coordinates, core count, ...
};

// Any member may be called from any thread.
class Device {
 public:
  virtual ~Device() = default;

  // Constant for the life of the device.
  virtual const DeviceInfo& info() const = 0;
  // The memories that it can address, the default one first. Never empty for an addressable device.
  virtual std::span<Memory* const> memories() const = 0;
  // Where copies to and from this device's memories are queued.
  virtual Stream& stream() = 0;
};

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_DEVICE_H_
