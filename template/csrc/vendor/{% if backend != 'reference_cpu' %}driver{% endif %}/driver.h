#ifndef VENDOR_DRIVER_DRIVER_H_
#define VENDOR_DRIVER_DRIVER_H_

// The skeleton of a driver: devices that are listed, memories that hold arrays (on the host),
// copies between them, and a compiler that says that it is none. Everything that a vendor replaces
// is marked VENDOR:, with what must hold afterwards.
//
// Read in this order: memory.h, stream.h, device.h, compiler.h, and then driver.cc, which puts them
// together.

#include <memory>
#include <string>
#include <vector>

#include "backend/driver.h"
#include "generated/config.h"
#include "vendor/driver/compiler.h"
#include "vendor/driver/device.h"

namespace PJRT_PLUGIN_NS::vendor {

// VENDOR: one per client; a process may make several, one after the other or at the same time. What
// is heavy or can fail belongs in Create, so that no half-made driver exists. The destructor
// finishes or drops queued work and joins every thread that the driver started: the process may
// unload the runtime right after.
class Driver final : public backend::Driver {
 public:
  static backend::Result<std::unique_ptr<backend::Driver>> Create(
      const backend::DriverOptions& options);

  std::string_view platform_version() const override { return "skeleton"; }
  std::span<backend::Device* const> devices() const override { return listed_devices_; }
  std::span<backend::Memory* const> memories() const override { return listed_memories_; }
  backend::Compiler& compiler() override { return compiler_; }

 private:
  Driver() = default;

  Compiler compiler_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<backend::Device*> listed_devices_;
  std::vector<backend::Memory*> listed_memories_;
};

std::span<const backend::OptionSpec> DriverOptionSpecs();

}  // namespace PJRT_PLUGIN_NS::vendor

#endif  // VENDOR_DRIVER_DRIVER_H_
