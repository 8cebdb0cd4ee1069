// The functions that a raw buffer carries with it, through which frameworks since API 0.112 call
// it. They take no argument structs, so nothing stands in front of them: they hold their arguments
// to what they need, and let no exception out.

#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "plugin/await_on_failure.h"
#include "plugin/device_event.h"
#include "plugin/raw_buffer.h"

#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_Extension

namespace PJRT_PLUGIN_NS::plugin {

// API 0.112 has a table too, whose copies take one argument less, `dependencies`. It is left out
// there: frameworks of that version need it for nothing. A framework of 0.112 under a plugin of a
// newer version finds the table of today, and nothing tells the two apart: not the object, which is
// a pointer to the table, and not its struct_size, which frameworks do not read. All else of it
// holds there, and the copies of the extension hold everywhere; its two copies that return a device
// event do not, which only C++ code of frameworks calls.
#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_FunctionTable_schedule_copy_to
namespace {

template <typename Call>
Status Caught(const char* function, Call call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Status(Code::kResourceExhausted, "out of host memory");
  } catch (const std::exception& exception) {
    return Internal(std::string(function) + ": " + exception.what());
  } catch (...) {
    return Internal(std::string(function) + ": unknown C++ exception");
  }
}

Status GiveEvent(Result<Completion> done, PJRT_DeviceEvent* event) {
  if (!done.ok()) return done.status();
  const AwaitOnFailure await(*done);
  *event = NewDeviceEvent(*std::move(done));
  return Status();
}

PJRT_Error* TableCopyFromHost(PJRT_RawBuffer* raw, const void* src, int64_t offset, int64_t size,
                              PJRT_DeviceEventVector* dependencies, PJRT_DeviceEvent* event) {
  constexpr char kFunction[] = "copy_raw_host_to_device_and_return_event";
  return MakeError(Caught(kFunction, [=] {
    const std::vector<Completion> after = ReadDeviceEvents(dependencies);
    return GiveEvent(FromC(raw)->CopyFromHost(src, offset, size, after, kFunction), event);
  }));
}

PJRT_Error* TableCopyToHost(PJRT_RawBuffer* raw, void* dst, int64_t offset, int64_t size,
                            PJRT_DeviceEventVector* dependencies, PJRT_DeviceEvent* event) {
  constexpr char kFunction[] = "copy_raw_device_to_host_and_return_event";
  return MakeError(Caught(kFunction, [=] {
    const std::vector<Completion> after = ReadDeviceEvents(dependencies);
    return GiveEvent(FromC(raw)->CopyToHost(dst, offset, size, after, kFunction), event);
  }));
}

// Memory is there when its buffer is.
PJRT_Error* TableAllocationReady(PJRT_RawBuffer*, PJRT_DeviceEvent* event) {
  return MakeError(
      Caught("make_allocation_ready_event", [=] { return GiveEvent(Completion(), event); }));
}

// The caller gets no reference of its own here, so the event is one that never goes.
PJRT_Error* TableAsyncValue(PJRT_RawBuffer*, PJRT_DeviceEvent* event) {
  return MakeError(Caught("get_raw_buffer_async_value", [=] {
    static const PJRT_DeviceEvent there = NewDeviceEvent(Completion());
    *event = there;
    return Status();
  }));
}

PJRT_Error* TableSlice(PJRT_RawBuffer* raw, int64_t offset, int64_t size, PJRT_RawBuffer** slice) {
  constexpr char kFunction[] = "slice";
  return MakeError(Caught(kFunction, [=] {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(RawBuffer * part, FromC(raw)->Slice(offset, size, kFunction));
    *slice = ToC(part);
    return Status();
  }));
}

// Both promises are this function's, and are fulfilled whatever comes.
void TableScheduleCopyTo(PJRT_RawBuffer* from, PJRT_DeviceEventVector* dependencies,
                         PJRT_RawBuffer* to, PJRT_DeviceEventPromise* written,
                         PJRT_DeviceEventPromise* read,
                         void (*on_allocated)(PJRT_Error* error, void* user_data),
                         void* user_data) {
  constexpr char kFunction[] = "schedule_copy_to";
  Completion done;
  const Status status = Caught(kFunction, [&] {
    if (to->vtable != RawBufferFunctions()) {
      return InvalidArgument("schedule_copy_to: the destination is another plugin's");
    }
    const std::vector<Completion> after = ReadDeviceEvents(dependencies);
    PJRT_PLUGIN_ASSIGN_OR_RETURN(done, FromC(from)->CopyTo(*FromC(to), after, kFunction));
    return Status();
  });
  if (on_allocated != nullptr) on_allocated(MakeError(status), user_data);
  if (!status.ok()) done = Completion(status);
  FulfillWhenDone(written, done);
  FulfillWhenDone(read, done);
}

constexpr PJRT_RawBuffer_FunctionTable MakeRawBufferFunctions() {
  PJRT_RawBuffer_FunctionTable table = {};
  table.struct_size = sizeof(PJRT_RawBuffer_FunctionTable);
  table.instance_size = sizeof(PJRT_RawBuffer);
  table.inc_ref = [](PJRT_RawBuffer* raw) { FromC(raw)->AddReference(); };
  table.dec_ref = [](PJRT_RawBuffer* raw) { RawBuffer::DropReference(FromC(raw)); };
  table.get_on_device_size_in_bytes = [](const PJRT_RawBuffer* raw) {
    return FromC(raw)->region.bytes;
  };
  table.get_memory_space = [](const PJRT_RawBuffer* raw) { return ToC(FromC(raw)->memory); };
  table.get_host_pointer = [](const PJRT_RawBuffer* raw) { return FromC(raw)->HostPointer(); };
  table.copy_raw_host_to_device_and_return_event = TableCopyFromHost;
  table.copy_raw_device_to_host_and_return_event = TableCopyToHost;
  table.opaque_device_memory_data_pointer = [](const PJRT_RawBuffer* raw) {
    return static_cast<void*>(FromC(raw)->address());
  };
  table.make_allocation_ready_event = TableAllocationReady;
  table.get_raw_buffer_async_value = TableAsyncValue;
  table.is_mutable = [](const PJRT_RawBuffer*) { return true; };
  table.slice = TableSlice;
  table.schedule_copy_to = TableScheduleCopyTo;
  return table;
}
constexpr PJRT_RawBuffer_FunctionTable kRawBufferFunctions = MakeRawBufferFunctions();

}  // namespace

const void* RawBufferFunctions() { return &kRawBufferFunctions; }
#else
const void* RawBufferFunctions() { return nullptr; }
#endif

}  // namespace PJRT_PLUGIN_NS::plugin

#endif
