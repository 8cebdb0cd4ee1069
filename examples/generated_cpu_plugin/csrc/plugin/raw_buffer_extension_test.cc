// Raw buffers as frameworks use them: by the functions of the extension, and by those that each one
// carries.

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "generated/entries.h"
#include "generated/features.h"
#include "generated/guard.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/guard_page.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_Extension
const PJRT_RawBuffer_Extension& Raw() {
  return *FindExtension<PJRT_RawBuffer_Extension>(PJRT_Extension_Type_RawBuffer);
}

PJRT_RawBuffer* AliasOf(PJRT_Buffer* buffer, std::string* error = nullptr) {
  auto args = Make<PJRT_RawBuffer_CreateRawAliasOfBuffer_Args>();
  args.buffer = buffer;
  const std::string text = Text(Raw().PJRT_RawBuffer_CreateRawAliasOfBuffer(&args));
  if (error != nullptr) *error = text;
  return args.raw_buffer;
}

void DestroyRaw(PJRT_RawBuffer* raw) {
  auto args = Make<PJRT_RawBuffer_Destroy_Args>();
  args.buffer = raw;
  EXPECT_EQ(Text(Raw().PJRT_RawBuffer_Destroy(&args)), "");
}

// The error, or "" with the event of the copy in `event`.
std::string ReadRaw(PJRT_RawBuffer* raw, void* to, int64_t offset, int64_t size,
                    PJRT_Event** event) {
  auto args = Make<PJRT_RawBuffer_CopyRawDeviceToHost_Args>();
  args.buffer = raw;
  args.dst = to;
  args.offset = offset;
  args.transfer_size = size;
  std::string text = Text(Raw().PJRT_RawBuffer_CopyRawDeviceToHost(&args));
  *event = args.event;
  return text;
}

std::string WriteRaw(PJRT_RawBuffer* raw, const void* from, int64_t offset, int64_t size,
                     PJRT_Event** event) {
  auto args = Make<PJRT_RawBuffer_CopyRawHostToDevice_Args>();
  args.buffer = raw;
  args.src = from;
  args.offset = offset;
  args.transfer_size = size;
  std::string text = Text(Raw().PJRT_RawBuffer_CopyRawHostToDevice(&args));
  *event = args.event;
  return text;
}

TEST(RawBufferExtension, SaysWhereItsBytesAre) {
  for (const bool host_accessible : {false, true}) {
    Fake::Reset({.host_accessible = host_accessible});
    TestClient client;
    PJRT_Buffer* buffer = client.Put<float>({1, 2, 3}, {3});
    PJRT_RawBuffer* raw = AliasOf(buffer);
    auto size = Make<PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args>();
    size.buffer = raw;
    EXPECT_EQ(Text(Raw().PJRT_RawBuffer_GetOnDeviceSizeInBytes(&size)), "");
    EXPECT_EQ(size.on_device_size_in_bytes, size_t{12});
    auto memory = Make<PJRT_RawBuffer_GetMemorySpace_Args>();
    memory.buffer = raw;
    EXPECT_EQ(Text(Raw().PJRT_RawBuffer_GetMemorySpace(&memory)), "");
    EXPECT_TRUE(memory.memory_space == client.memory(0, "device"));
#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_GetHostPointer
    auto host = Make<PJRT_RawBuffer_GetHostPointer_Args>();
    host.buffer = raw;
    EXPECT_EQ(Text(Raw().PJRT_RawBuffer_GetHostPointer(&host)), "");
    EXPECT_EQ(host.host_pointer != nullptr, host_accessible);
    if (host_accessible) EXPECT_EQ(static_cast<float*>(host.host_pointer)[2], 3.0f);
#endif
    DestroyRaw(raw);
    DestroyBuffer(buffer);
  }
}

// Callers compiled with any header: no byte beyond their struct is touched.
template <typename Args>
void CallAtEverySize(PJRT_Error* (*function)(Args*), PJRT_RawBuffer* raw) {
  const generated::Entry& entry = generated::kEntry<Args>;
  for (size_t size = sizeof(size_t); size <= entry.size + size_t{16}; size += 8) {
    const test::GuardedStruct caller(size);
    auto* args = reinterpret_cast<Args*>(caller.data());
    if (size >= entry.oldest) args->buffer = raw;
    const std::string error = Text(function(args));
    if (size < entry.oldest) {
      EXPECT_CONTAINS(error, "struct_size");
    } else {
      EXPECT_EQ(error, "") << entry.name << ", struct_size " << size;
    }
  }
}

TEST(RawBufferExtension, ServesCallersOfEveryAge) {
  Fake::Reset({.host_accessible = true});
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2, 3}, {3});
  PJRT_RawBuffer* raw = AliasOf(buffer);
  CallAtEverySize(Raw().PJRT_RawBuffer_GetOnDeviceSizeInBytes, raw);
  CallAtEverySize(Raw().PJRT_RawBuffer_GetMemorySpace, raw);
#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_GetHostPointer
  CallAtEverySize(Raw().PJRT_RawBuffer_GetHostPointer, raw);
#endif
  DestroyRaw(raw);
  DestroyBuffer(buffer);
}

TEST(RawBufferExtension, CopiesPartsInBothDirections) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2, 3, 4}, {4});
  PJRT_RawBuffer* raw = AliasOf(buffer);
  PJRT_Event* event = nullptr;
  float read[2] = {};
  EXPECT_EQ(ReadRaw(raw, read, 4, 8, &event), "");
  EXPECT_EQ(Finish(event), "");
  EXPECT_EQ(read[0], 2.0f);
  EXPECT_EQ(read[1], 3.0f);
  const float write = 9;
  EXPECT_EQ(WriteRaw(raw, &write, 12, 4, &event), "");
  EXPECT_EQ(Finish(event), "");
  EXPECT_TRUE(Get<float>(buffer) == std::vector<float>({1, 2, 3, 9}));
  DestroyRaw(raw);
  DestroyBuffer(buffer);
}

TEST(RawBufferExtension, ReadsNothingBeforeTheContentsAreThere) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({5}, {1});
  PJRT_RawBuffer* raw = AliasOf(buffer);
  PJRT_Event* event = nullptr;
  float read = 0;
  EXPECT_EQ(ReadRaw(raw, &read, 0, 4, &event), "");
  EXPECT_TRUE(!IsReady(event));
  EXPECT_EQ(read, 0.0f);
  Fake::RunQueued();
  EXPECT_EQ(Finish(event), "");
  EXPECT_EQ(read, 5.0f);
  DestroyRaw(raw);
  DestroyBuffer(buffer);
}

// The memory belongs to the raw buffer as well: buffer and client may go first.
TEST(RawBufferExtension, OutlivesBufferAndClient) {
  Fake::Reset();
  PJRT_RawBuffer* raw = nullptr;
  {
    TestClient client;
    PJRT_Buffer* buffer = client.Put<float>({6}, {1});
    raw = AliasOf(buffer);
    DestroyBuffer(buffer);
  }
  PJRT_Event* event = nullptr;
  float read = 0;
  EXPECT_EQ(ReadRaw(raw, &read, 0, 4, &event), "");
  EXPECT_EQ(Finish(event), "");
  EXPECT_EQ(read, 6.0f);
  DestroyRaw(raw);
  EXPECT_EQ(Fake::LiveBlocks(), 0);
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}

TEST(RawBufferExtension, RefusesWhatIsNotInside) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2}, {2});
  PJRT_RawBuffer* raw = AliasOf(buffer);
  PJRT_Event* event = nullptr;
  float bytes[4] = {};
  EXPECT_CONTAINS(ReadRaw(raw, bytes, 4, 8, &event), "3: PJRT_RawBuffer_CopyRawDeviceToHost");
  EXPECT_CONTAINS(ReadRaw(raw, bytes, -1, 1, &event), "3: ");
  EXPECT_CONTAINS(WriteRaw(raw, bytes, INT64_MAX, 8, &event), "3: ");
  EXPECT_CONTAINS(ReadRaw(raw, nullptr, 0, 8, &event), "dst");
  EXPECT_EQ(ReadRaw(raw, nullptr, 8, 0, &event), "");  // no bytes
  EXPECT_EQ(Finish(event), "");
  DestroyRaw(raw);
  DestroyBuffer(buffer);
}

TEST(RawBufferExtension, RefusesABufferThatWasDeleted) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1}, {1});
  auto args = Make<PJRT_Buffer_Delete_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_Delete(&args)), "");
  std::string error;
  EXPECT_TRUE(AliasOf(buffer, &error) == nullptr);
  EXPECT_CONTAINS(error, "deleted");
  DestroyBuffer(buffer);
}

#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_FunctionTable_schedule_copy_to
// A promise and an event of the framework's, as its tables show them.
struct FrameworkEvent {
  static void Count(void* self, int change) {
    static_cast<FrameworkEvent*>(self)->references += change;
  }
  const PJRT_DeviceEvent_FunctionTable table = [] {
    PJRT_DeviceEvent_FunctionTable table = {};
    table.struct_size = sizeof(table);
    table.inc_ref = [](void* self) { Count(self, 1); };
    table.dec_ref = [](void* self) { Count(self, -1); };
    table.and_then = [](void* self, PJRT_DeviceEvent_AndThen callback, void* user_arg) {
      static_cast<FrameworkEvent*>(self)->callback = callback;
      static_cast<FrameworkEvent*>(self)->user_arg = user_arg;
    };
    table.get_error_if_present = [](void* self, PJRT_Error_Code* code, const char** message,
                                    size_t* size) {
      const std::string& failure = static_cast<FrameworkEvent*>(self)->failure;
      *code = PJRT_Error_Code_ABORTED;
      *message = failure.data();
      *size = failure.size();
      return failure.empty() ? 0 : 1;
    };
    return table;
  }();
  int references = 1;
  PJRT_DeviceEvent_AndThen callback = nullptr;
  void* user_arg = nullptr;
  std::string failure;
};

struct FrameworkPromise : PJRT_DeviceEventPromise {
  FrameworkPromise() : PJRT_DeviceEventPromise{&kTable} {}
  static FrameworkPromise* Of(PJRT_DeviceEventPromise* promise) {
    return static_cast<FrameworkPromise*>(promise);
  }
  static const PJRT_DeviceEventPromise_FunctionTable kTable;
  int references = 1;
  std::string outcome = "pending";
};
const PJRT_DeviceEventPromise_FunctionTable FrameworkPromise::kTable = [] {
  PJRT_DeviceEventPromise_FunctionTable table = {};
  table.struct_size = sizeof(table);
  table.dec_ref = [](PJRT_DeviceEventPromise* promise) { --Of(promise)->references; };
  table.set_error = [](PJRT_DeviceEventPromise* promise, PJRT_Error* error) {
    Of(promise)->outcome = Text(error);
  };
  table.set_ready = [](PJRT_DeviceEventPromise* promise) { Of(promise)->outcome = "ready"; };
  return table;
}();

std::string StateAndDrop(PJRT_DeviceEvent event) {
  PJRT_Error_Code code = {};
  const char* message = nullptr;
  size_t size = 0;
  std::string text = std::to_string(int(event.vtable->get_state(event.device_event)));
  if (event.vtable->get_error_if_present(event.device_event, &code, &message, &size) != 0) {
    text += " " + std::to_string(int(code)) + ": " + std::string(message, size);
  }
  event.vtable->dec_ref(event.device_event);
  return text;
}

TEST(RawBufferFunctions, CopyWaitsForEventsOfTheFramework) {
  for (const bool fails : {false, true}) {
    Fake::Reset();
    TestClient client;
    PJRT_Buffer* buffer = client.Put<float>({1, 2}, {2});
    PJRT_RawBuffer* raw = AliasOf(buffer);
    FrameworkEvent before;
    PJRT_DeviceEvent list[] = {{&before.table, &before}};
    PJRT_DeviceEventVector dependencies = {list, 1, 1, nullptr};
    PJRT_DeviceEvent done = {};
    const float write = 7;
    EXPECT_EQ(Text(raw->vtable->copy_raw_host_to_device_and_return_event(raw, &write, 4, 4,
                                                                         &dependencies, &done)),
              "");
    EXPECT_EQ(before.references, 2);
    EXPECT_EQ(int(done.vtable->get_state(done.device_event)),
              int(PJRT_DeviceEvent_State_Unavailable));
    EXPECT_TRUE(Get<float>(buffer) == std::vector<float>({1, 2}));
    if (fails) before.failure = "lost";
    before.callback(before.user_arg);
    EXPECT_EQ(before.references, 1);
    EXPECT_EQ(StateAndDrop(done), fails ? "2 10: lost" : "1");
    EXPECT_TRUE(Get<float>(buffer) == std::vector<float>({1, fails ? 2.0f : 7.0f}));
    raw->vtable->dec_ref(raw);
    DestroyBuffer(buffer);
  }
}

// Whoever reads as much of the table as it says, or as it had when there first was one, finds a
// function in each place, and the places never move.
TEST(RawBufferFunctions, AreAllThere) {
  using Table = PJRT_RawBuffer_FunctionTable;
  static_assert(offsetof(Table, inc_ref) == 24);
  static_assert(offsetof(Table, copy_raw_host_to_device_and_return_event) == 64);
  static_assert(offsetof(Table, slice) == 112, "API 0.112 ends here");
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1}, {1});
  PJRT_RawBuffer* raw = AliasOf(buffer);
  EXPECT_EQ(raw->vtable->struct_size, sizeof(Table));
  EXPECT_EQ(raw->vtable->instance_size, sizeof(PJRT_RawBuffer));
  const auto* table = reinterpret_cast<const std::byte*>(raw->vtable);
  for (size_t at = offsetof(Table, inc_ref); at < sizeof(Table); at += sizeof(void*)) {
    EXPECT_NE(generated::LoadPointer(table, at), nullptr) << "at byte " << at;
  }
  raw->vtable->dec_ref(nullptr);
  raw->vtable->dec_ref(raw);
  DestroyBuffer(buffer);
}

TEST(RawBufferFunctions, SlicesShareTheBytes) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2, 3}, {3});
  PJRT_RawBuffer* raw = AliasOf(buffer);
  PJRT_RawBuffer* part = nullptr;
  EXPECT_CONTAINS(Text(raw->vtable->slice(raw, 8, 8, &part)), "3: slice");
  EXPECT_EQ(Text(raw->vtable->slice(raw, 4, 8, &part)), "");
  raw->vtable->inc_ref(part);
  raw->vtable->dec_ref(part);
  raw->vtable->dec_ref(raw);
  DestroyBuffer(buffer);
  float read = 0;
  PJRT_DeviceEvent done = {};
  EXPECT_EQ(part->vtable->get_on_device_size_in_bytes(part), size_t{8});
  EXPECT_EQ(Text(part->vtable->copy_raw_device_to_host_and_return_event(part, &read, 4, 4, nullptr,
                                                                        &done)),
            "");
  EXPECT_EQ(StateAndDrop(done), "1");
  EXPECT_EQ(read, 3.0f);
  part->vtable->dec_ref(part);
  EXPECT_EQ(Fake::LiveBlocks(), 0);
}

TEST(RawBufferFunctions, ScheduledCopyFulfilsBothPromises) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_Buffer* from = client.Put<float>({1, 2}, {2});
  PJRT_Buffer* to = client.Put<float>({0, 0}, {2}, 1);
  PJRT_Buffer* small = client.Put<float>({0}, {1});
  Fake::RunQueued();
  PJRT_RawBuffer* raws[] = {AliasOf(from), AliasOf(to), AliasOf(small)};
  const auto on_allocated = [](PJRT_Error* error, void* text) {
    *static_cast<std::string*>(text) = "allocated " + Text(error);
  };
  FrameworkPromise written, read;
  std::string allocated;
  raws[0]->vtable->schedule_copy_to(raws[0], nullptr, raws[1], &written, &read, on_allocated,
                                    &allocated);
  EXPECT_EQ(allocated, "allocated ");
  EXPECT_EQ(written.outcome, "pending");
  Fake::RunQueued();
  EXPECT_EQ(written.outcome, "ready");
  EXPECT_EQ(read.outcome, "ready");
  EXPECT_EQ(written.references + read.references, 0);
  EXPECT_TRUE(Get<float>(to) == std::vector<float>({1, 2}));

  FrameworkPromise not_written, not_read;
  raws[0]->vtable->schedule_copy_to(raws[0], nullptr, raws[2], &not_written, &not_read,
                                    on_allocated, &allocated);
  EXPECT_CONTAINS(allocated, "allocated 3: schedule_copy_to: the destination has 4 bytes");
  EXPECT_CONTAINS(not_written.outcome, "3: ");
  EXPECT_CONTAINS(not_read.outcome, "3: ");
  EXPECT_EQ(not_written.references + not_read.references, 0);
  for (PJRT_RawBuffer* raw : raws) DestroyRaw(raw);
  for (PJRT_Buffer* buffer : {from, to, small}) DestroyBuffer(buffer);
}
#endif
#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
