#ifndef TESTING_ACCELERATOR_DRIVER_H_
#define TESTING_ACCELERATOR_DRIVER_H_

// An accelerator that is not there: any backend in a place that the host cannot reach. Device
// memory has addresses that fault; copies and launches run on a thread of their device, some time
// after the call, one after the other, and side by side with those of other devices; and the
// control makes them slow or lets them fail. Programs are compiled and run by the backend
// underneath.
//
//   auto control = std::make_shared<Control>();
//   std::unique_ptr<backend::Driver> driver = Accelerate(std::move(inner), control);

#include <memory>

#include "backend/driver.h"
#include "generated/config.h"
#include "testing/accelerator/control.h"

namespace PJRT_PLUGIN_NS::accelerator {

std::unique_ptr<backend::Driver> Accelerate(std::unique_ptr<backend::Driver> inner,
                                            std::shared_ptr<Control> control);

}  // namespace PJRT_PLUGIN_NS::accelerator

#endif  // TESTING_ACCELERATOR_DRIVER_H_
