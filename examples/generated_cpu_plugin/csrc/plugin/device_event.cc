#include "plugin/device_event.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "plugin/error.h"

#if PJRT_SCAFFOLD_HAS_PJRT_DeviceEventVector

namespace PJRT_PLUGIN_NS::plugin {
namespace {

struct CountedEvent {
  explicit CountedEvent(backend::Completion completion) : completion(std::move(completion)) {}

  const backend::Completion completion;
  std::atomic<int> references{1};
  // Callers look at the message as long as the event is there.
  std::once_flag once;
  Status failure;
};

CountedEvent* Counted(void* event) { return static_cast<CountedEvent*>(event); }

void AddEventReference(void* event) { Counted(event)->references.fetch_add(1); }

void DropEventReference(void* event) {
  if (Counted(event)->references.fetch_sub(1) == 1) delete Counted(event);
}

// Has no way to fail: where there is no memory to wait with, the caller waits.
void AfterEvent(void* event, PJRT_DeviceEvent_AndThen callback, void* user_arg) noexcept {
  const backend::Completion& completion = Counted(event)->completion;
  try {
    completion.OnReady([=](const Status&) { callback(user_arg); });
  } catch (const std::bad_alloc&) {
    (void)completion.Await();
    callback(user_arg);
  }
}

int ErrorOfEvent(void* event, PJRT_Error_Code* code, const char** message, size_t* message_size) {
  CountedEvent* counted = Counted(event);
  if (!counted->completion.IsReady()) return 0;
  std::call_once(counted->once, [&] { counted->failure = counted->completion.status(); });
  if (counted->failure.ok()) return 0;
  *code = PJRT_Error_Code(counted->failure.code());
  *message = counted->failure.message().data();
  *message_size = counted->failure.message().size();
  return 1;
}

PJRT_DeviceEvent_State StateOfEvent(void* event) {
  const backend::Completion& completion = Counted(event)->completion;
  if (!completion.IsReady()) return PJRT_DeviceEvent_State_Unavailable;
  return completion.status().ok() ? PJRT_DeviceEvent_State_Ready : PJRT_DeviceEvent_State_Error;
}

// 0: not known.
intptr_t StreamOfEvent(void*, uint64_t* sequence_number) {
  if (sequence_number != nullptr) *sequence_number = 0;
  return 0;
}

constexpr PJRT_DeviceEvent_FunctionTable MakeEventFunctions() {
  PJRT_DeviceEvent_FunctionTable table = {};
  table.struct_size = sizeof(PJRT_DeviceEvent_FunctionTable);
  table.inc_ref = AddEventReference;
  table.dec_ref = DropEventReference;
  table.and_then = AfterEvent;
  table.get_error_if_present = ErrorOfEvent;
  table.get_state = StateOfEvent;
  table.get_definition_stream = StreamOfEvent;
  return table;
}
constexpr PJRT_DeviceEvent_FunctionTable kEventFunctions = MakeEventFunctions();

// What an event that is ready says, of whoever's it is.
Status StatusOf(const PJRT_DeviceEvent& event) {
  PJRT_Error_Code code = PJRT_Error_Code_UNKNOWN;
  const char* message = nullptr;
  size_t size = 0;
  if (event.vtable->get_error_if_present(event.device_event, &code, &message, &size) == 0) {
    return Status();
  }
  return MakeStatus(code, message, size);
}

// Waits for an event of somebody else's; keeps it until then.
struct ForeignEvent {
  PJRT_DeviceEvent event;
  backend::Promise promise;
  // Made while the caller can still be told that it cannot be.
  const Status out_of_memory = Status(Code::kResourceExhausted, "out of host memory");

  Status Outcome() const noexcept {
    try {
      return StatusOf(event);
    } catch (const std::bad_alloc&) {
      return out_of_memory;
    }
  }

  static void Ready(void* self) noexcept {
    const std::unique_ptr<ForeignEvent> waited(static_cast<ForeignEvent*>(self));
    waited->promise.Set(waited->Outcome());
    waited->event.vtable->dec_ref(waited->event.device_event);
  }
};

backend::Completion ReadDeviceEvent(const PJRT_DeviceEvent& event) {
  if (event.vtable == nullptr || event.device_event == nullptr) return backend::Completion();
  if (event.vtable == &kEventFunctions) return Counted(event.device_event)->completion;
  auto [done, promise] = backend::MakeCompletion();
  auto waiting = std::make_unique<ForeignEvent>(ForeignEvent{event, std::move(promise)});
  event.vtable->inc_ref(event.device_event);
  event.vtable->and_then(event.device_event, ForeignEvent::Ready, waiting.release());
  return done;
}

}  // namespace

PJRT_DeviceEvent NewDeviceEvent(backend::Completion completion) {
  return {&kEventFunctions, new CountedEvent(std::move(completion))};
}

std::vector<backend::Completion> ReadDeviceEvents(const PJRT_DeviceEventVector* events) {
  std::vector<backend::Completion> completions;
  for (size_t i = 0; events != nullptr && i < events->size; ++i) {
    completions.push_back(ReadDeviceEvent(events->data[i]));
  }
  return completions;
}

void FulfillWhenDone(PJRT_DeviceEventPromise* promise, const backend::Completion& done) {
  if (promise == nullptr) return;
  done.OnReady([promise](const Status& status) {
    if (status.ok()) {
      promise->vtable->set_ready(promise);
    } else {
      promise->vtable->set_error(promise, MakeError(status));
    }
    promise->vtable->dec_ref(promise);
  });
}

}  // namespace PJRT_PLUGIN_NS::plugin

#endif
