#ifndef REFERENCE_DRIVER_H_
#define REFERENCE_DRIVER_H_

// The CPU reference backend: simulated devices that really compute. csrc/vendor/backend.cc forwards
// to these two functions; see backend/driver.h for what they promise.

#include <memory>
#include <span>

#include "backend/driver.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::reference {

std::span<const backend::OptionSpec> DriverOptionSpecs();
backend::Result<std::unique_ptr<backend::Driver>> CreateDriver(
    const backend::DriverOptions& options);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_DRIVER_H_
