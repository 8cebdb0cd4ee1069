#ifndef PLUGIN_DEVICE_EVENT_H_
#define PLUGIN_DEVICE_EVENT_H_

// PJRT_DeviceEvent: a counted reference to a Completion, as the tables of raw buffers hand them in
// and out. Unlike a PJRT_Event it has functions of its own, so events of other plugins and of the
// framework can be waited for too.
//
//   *event = NewDeviceEvent(copied);                       // the caller's reference
//   std::vector<Completion> after = ReadDeviceEvents(dependencies);

#include <vector>

#include "backend/completion.h"
#include "generated/config.h"
#include "generated/features.h"
#include "generated/pjrt_extensions.h"

#if PJRT_SCAFFOLD_HAS_PJRT_DeviceEventVector

namespace PJRT_PLUGIN_NS::plugin {

// One reference, which is the receiver's.
PJRT_DeviceEvent NewDeviceEvent(backend::Completion completion);

// Whoever else's events they are; the caller's references stay the caller's. Null is no events.
std::vector<backend::Completion> ReadDeviceEvents(const PJRT_DeviceEventVector* events);

// Tells the framework's promise how `done` ends, once, and drops the reference to the promise. Null
// is nobody who wants to know.
void FulfillWhenDone(PJRT_DeviceEventPromise* promise, const backend::Completion& done);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif

#endif  // PLUGIN_DEVICE_EVENT_H_
