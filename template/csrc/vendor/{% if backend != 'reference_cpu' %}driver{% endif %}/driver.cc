#include "vendor/driver/driver.h"

#include <utility>

namespace PJRT_PLUGIN_NS::vendor {

// VENDOR: the options of your device. Each is also read from the environment, here
// ACME_NUM_DEVICES for a plugin named acme; types and ranges are checked before Create sees the
// values.
std::span<const backend::OptionSpec> DriverOptionSpecs() {
  static constexpr backend::OptionSpec kSpecs[] = {
      {.name = "num_devices",
       .help = "how many devices to show; 0 is a machine without them",
       .default_value = int64_t{kDefaultNumDevices},
       .min = 0,
       .max = 64},
      {.name = "memory_bytes",
       .help = "memory of each device in bytes, 0 for no limit",
       .default_value = int64_t{0},
       .min = 0},
  };
  return kSpecs;
}

// VENDOR: find the devices here. Where there are none, answer UNAVAILABLE, and say in the message
// what was looked for and where: users read it when jax.devices() fails. With options.num_processes
// > 1, list the devices of all processes, by ids that every process agrees on (options.store
// carries what they must tell each other), and the memories of this process's devices only. With
// options.topology set, somebody compiles for devices that need not be there: describe those that
// are asked for, and touch no hardware.
backend::Result<std::unique_ptr<backend::Driver>> Driver::Create(
    const backend::DriverOptions& options) {
  if (options.topology.has_value() &&
      (!options.topology->name.empty() || !options.topology->devices.empty())) {
    return backend::Unimplemented(
        "this backend describes the devices that its options name, and no other topologies");
  }
  std::unique_ptr<Driver> driver(new Driver);
  const int64_t count = options.options.Int("num_devices");
  const size_t bytes = size_t(options.options.Int("memory_bytes"));
  for (int id = 0; id < count; ++id) {
    driver->devices_.push_back(std::make_unique<Device>(id, options.process_index, bytes));
    Device& device = *driver->devices_.back();
    driver->listed_devices_.push_back(&device);
    for (backend::Memory* memory : device.memories()) driver->listed_memories_.push_back(memory);
  }
  return std::unique_ptr<backend::Driver>(std::move(driver));
}

}  // namespace PJRT_PLUGIN_NS::vendor
