// The way from the plugin layer to the hardware. This file is yours: no update touches it.
//
// VENDOR: today everything is served by the CPU reference backend in csrc/reference. Write your own
// driver against csrc/backend/*.h, create it here, add its files to sources.cmake, and then leave
// the reference with `pjrt-scaffold update -d backend=own`.

#include "backend/driver.h"
#include "program/read.h"
#include "reference/driver.h"

namespace PJRT_PLUGIN_NS::backend {

// VENDOR: load the vendor runtime here (dlopen it, check its version). Touch no device: this runs
// in every process that imports jax with this plugin installed.
Status InitializePlugin() { return Status(); }

// VENDOR: the versions that your compiler reads; it need not be the newest that there is.
StablehloRange StablehloVersions() {
  const auto& newest = program::kStableHloVersion;
  return {.oldest = {1, 0, 0}, .newest = {newest[0], newest[1], newest[2]}};
}

std::span<const OptionSpec> DriverOptionSpecs() { return reference::DriverOptionSpecs(); }

Result<std::unique_ptr<Driver>> CreateDriver(const DriverOptions& options) {
  return reference::CreateDriver(options);
}

}  // namespace PJRT_PLUGIN_NS::backend
