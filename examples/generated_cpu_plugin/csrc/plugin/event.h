#ifndef PLUGIN_EVENT_H_
#define PLUGIN_EVENT_H_

// PJRT_Event: a Completion that the caller of the C API owns. Destroying it cancels nothing:
// callbacks that wait for it still run, once each.

#include <cstdint>
#include <memory>
#include <utility>

#include "backend/completion.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"
#include "plugin/error.h"
#include "plugin/fork.h"
#include "plugin/handle.h"

namespace PJRT_PLUGIN_NS::plugin {

using backend::Completion;

struct Event : Handle<Tag::kEvent> {
  explicit Event(Completion completion) : completion(std::move(completion)) {}

  // OK, or FAILED_PRECONDITION when the work is that of another process: it never ends in this one.
  Status CheckProcess(const char* function) const {
    const bool here = completion.IsReady() || fork_generation == ForkGeneration();
    return here ? Status() : ForkedError(function);
  }

  const Completion completion;
  const uint32_t fork_generation = ForkGeneration();
  // Only of an event that the framework made with PJRT_Event_Create, and sets.
  std::shared_ptr<const backend::Promise> promise;
};
PJRT_PLUGIN_HANDLE(PJRT_Event, Event)

inline PJRT_Event* NewEvent(Completion completion) { return ToC(new Event(std::move(completion))); }

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_EVENT_H_
