// A framework's callbacks run on threads of the backend and in destructors, where an exception
// would end the process: what they throw is dropped, and all else goes on.

#include <stdexcept>
#include <string>
#include <thread>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/error.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// Registers a callback that counts, and then throws.
void Register(PJRT_Event* event, int* calls) {
  auto args = Make<PJRT_Event_OnReady_Args>();
  args.event = event;
  args.user_arg = calls;
  args.callback = [](PJRT_Error* error, void* calls) {
    (void)Text(error);
    ++*static_cast<int*>(calls);
    throw std::runtime_error("a callback threw");
  };
  EXPECT_EQ(Text(Api().PJRT_Event_OnReady(&args)), "");
}

// pitfall 52: an exception in one operation ends the process
TEST(ThrowingCallback, OfAnEvent) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Execution run = Execute(inc, {{x}});
  int calls = 0;
  Register(run.done[0], &calls);  // the first must not keep the second from running
  Register(run.done[0], &calls);
  EXPECT_EQ(calls, 0);
  Fake::RunQueued();
  EXPECT_EQ(calls, 2);
  Register(run.done[0], &calls);  // at once: the event is ready
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (std::vector<float>{2, 3, 4, 5}));
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(inc);
  client.Destroy();
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}

TEST(ThrowingCallback, OfAView) {
  Fake::Reset({.can_wrap = true});
  TestClient client;
  float data = 1;
  int calls = 0;
  auto args = Make<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
  args.client = client.client;
  args.device_buffer_ptr = &data;
  args.element_type = PJRT_Buffer_Type_F32;
  args.device = client.device(0);
  args.on_delete_callback_arg = &calls;
  args.on_delete_callback = [](void*, void* calls) {
    ++*static_cast<int*>(calls);
    throw std::runtime_error("a callback threw");
  };
  EXPECT_EQ(Text(Api().PJRT_Client_CreateViewOfDeviceBuffer(&args)), "");
  DestroyBuffer(args.buffer);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(Fake::LiveBlocks(), 0);
}

// A view may be let go of by a worker of the backend, for which the driver's destructor waits, and
// its callback may destroy the last buffer of the client.
TEST(Callback, OfAViewMayLetGoOfTheClient) {
  Fake::Reset({.can_wrap = true, .manual = true});
  TestClient client;
  float data = 1;
  PJRT_Buffer* last = client.Put<float>({1, 2}, {2});
  Fake::RunQueued();
  auto args = Make<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
  args.client = client.client;
  args.device_buffer_ptr = &data;
  args.element_type = PJRT_Buffer_Type_F32;
  args.device = client.device(0);
  args.on_delete_callback_arg = last;
  args.on_delete_callback = [](void*, void* last) {
    DestroyBuffer(static_cast<PJRT_Buffer*>(last));
  };
  EXPECT_EQ(Text(Api().PJRT_Client_CreateViewOfDeviceBuffer(&args)), "");
  float out = 0;
  auto copy = Make<PJRT_Buffer_ToHostBuffer_Args>();
  copy.src = args.buffer;
  copy.dst = &out;
  copy.dst_size = sizeof(out);
  EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&copy)), "");
  DestroyEvent(copy.event);
  DestroyBuffer(args.buffer);
  client.Destroy();
  const std::thread::id here = std::this_thread::get_id();
  Fake::RunQueued();  // this thread is the backend's now
  while (Fake::LiveDrivers() != 0) std::this_thread::yield();
  EXPECT_TRUE(Fake::LastDriverThread() != here);
  EXPECT_EQ(out, 1.0f);
}

#if PJRT_SCAFFOLD_HAS_PJRT_Memory_FunctionTable
TEST(ThrowingCallback, OfUserData) {
  Fake::Reset();
  TestClient client;
  static int destroyed;
  destroyed = 0;
  PJRT_Memory* memory = client.memory(0, "device");
  const char one = '1', two = '2';
  for (const char* key : {&one, &one, &two}) {  // the second takes the place of the first
    memory->vtable->set_user_data(memory, key, nullptr, [](void*) {
      ++destroyed;
      throw std::runtime_error("a callback threw");
    });
  }
  EXPECT_EQ(destroyed, 1);
  client.Destroy();
  EXPECT_EQ(destroyed, 3);
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Error_ForEachPayload
// This one runs in the call: its exception is the answer.
TEST(ThrowingCallback, OfPayloads) {
  auto args = Make<PJRT_Error_ForEachPayload_Args>();
  args.error = MakeError(Status(Code::kInternal, "broken", {{"key", "value"}}));
  args.visitor = [](const char*, size_t, const char*, size_t, void*) {
    throw std::runtime_error("a callback threw");
  };
  EXPECT_CONTAINS(Text(Api().PJRT_Error_ForEachPayload(&args)), "a callback threw");
  (void)Text(const_cast<PJRT_Error*>(args.error));
}
#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
