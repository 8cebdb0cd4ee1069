#include "plugin/event.h"

#include <string>
#include <utility>

#include "plugin/error.h"
#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::plugin {

PJRT_Error* Layer::Event_Destroy(PJRT_Event_Destroy_Args* args) {
  delete FromC(args->event);
  return nullptr;
}

PJRT_Error* Layer::Event_IsReady(PJRT_Event_IsReady_Args* args) {
  args->is_ready = FromC(args->event)->completion.IsReady();
  return nullptr;
}

PJRT_Error* Layer::Event_Error(PJRT_Event_Error_Args* args) {
  const Completion& completion = FromC(args->event)->completion;
  if (!completion.IsReady()) {
    return MakeError(FailedPrecondition(
        "PJRT_Event_Error: the event is not ready yet; await it, or ask PJRT_Event_IsReady first"));
  }
  return MakeError(completion.status());
}

PJRT_Error* Layer::Event_Await(PJRT_Event_Await_Args* args) {
  const Event* event = FromC(args->event);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(event->CheckProcess("PJRT_Event_Await"));
  return MakeError(event->completion.Await());
}

PJRT_Error* Layer::Event_OnReady(PJRT_Event_OnReady_Args* args) {
  const Event* event = FromC(args->event);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(event->CheckProcess("PJRT_Event_OnReady"));
  // The callback may destroy the event, so nothing of it is touched afterwards.
  event->completion.OnReady([callback = args->callback, user_arg = args->user_arg](
                                const Status& status) { callback(MakeError(status), user_arg); });
  return nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_Event_Create
PJRT_Error* Layer::Event_Create(PJRT_Event_Create_Args* args) {
  auto [completion, promise] = backend::MakeCompletion();
  auto event = std::make_unique<Event>(std::move(completion));
  event->promise = std::make_shared<const backend::Promise>(std::move(promise));
  args->event = ToC(event.release());
  return nullptr;
}

PJRT_Error* Layer::Event_Set(PJRT_Event_Set_Args* args) {
  // A callback may destroy the event while Set runs: the promise stays until it is over.
  const std::shared_ptr<const backend::Promise> promise = FromC(args->event)->promise;
  if (promise == nullptr) {
    return MakeError(
        FailedPrecondition("PJRT_Event_Set: the plugin sets this event itself; only events of "
                           "PJRT_Event_Create can be set"));
  }
  if (!promise->Set(MakeStatus(args->error_code, args->error_message, args->error_message_size))) {
    return MakeError(FailedPrecondition("PJRT_Event_Set: the event was set before"));
  }
  return nullptr;
}
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
