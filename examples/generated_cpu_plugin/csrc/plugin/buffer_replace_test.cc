// Bitcast and DonateWithControlDependency: a buffer that takes another one's place, and its memory.

#include <cstdint>
#include <string>
#include <vector>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using Floats = std::vector<float>;

[[maybe_unused]] uintptr_t Address(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_UnsafePointer_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_UnsafePointer(&args)), "");
  return args.buffer_pointer;
}

[[maybe_unused]] PJRT_Event* ReadyEvent(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ReadyEvent(&args)), "");
  return args.event;
}

[[maybe_unused]] void AddReference(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_IncreaseExternalReferenceCount(&args)), "");
}

[[maybe_unused]] void DropReference(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_DecreaseExternalReferenceCount(&args)), "");
}

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_Bitcast
struct Cast {
  PJRT_Buffer* buffer = nullptr;
  std::string error;
};

Cast Bitcast(PJRT_Buffer* buffer, PJRT_Buffer_Type type, const std::vector<int64_t>& dims,
             PJRT_Buffer_MemoryLayout* layout = nullptr) {
  auto args = Make<PJRT_Buffer_Bitcast_Args>();
  args.buffer = buffer;
  args.element_type = type;
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.device_layout = layout;
  Cast cast;
  cast.error = Text(Api().PJRT_Buffer_Bitcast(&args));
  cast.buffer = args.out_buffer;
  return cast;
}

TEST(Bitcast, TakesTheMemoryOverAndDeletesTheOldBuffer) {
  Fake::Reset();
  {
    TestClient client;
    PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {2, 2});
    const uintptr_t address = Address(x);
    const Cast y = Bitcast(x, PJRT_Buffer_Type_S32, {4});
    EXPECT_EQ(y.error, "");
    EXPECT_TRUE(IsDeleted(x));
    EXPECT_EQ(Address(y.buffer), address);
    EXPECT_EQ(Fake::LiveBlocks(), 1);
    EXPECT_EQ(Get<int32_t>(y.buffer),
              (std::vector<int32_t>{0x3f800000, 0x40000000, 0x40400000, 0x40800000}));
    DestroyBuffer(x);
    const Cast bytes = Bitcast(y.buffer, PJRT_Buffer_Type_S8, {2, 8});
    EXPECT_EQ(Get<int8_t>(bytes.buffer)[3], 0x3f);
    client.Destroy();
    DestroyBuffer(bytes.buffer);
    DestroyBuffer(y.buffer);
  }
  EXPECT_EQ(Fake::LiveBlocks(), 0);
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}

TEST(Bitcast, RefusesWhatTheMemoryCannotBeAndLeavesTheBuffer) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* x = client.Put<float>({1, 2}, {2});
  EXPECT_CONTAINS(Bitcast(x, PJRT_Buffer_Type_F32, {3}).error,
                  "cannot bitcast f32[2] to f32[3]: that is from 8 bytes to 12");
  EXPECT_CONTAINS(Bitcast(x, PJRT_Buffer_Type_S4, {8}).error, "12: ");
  EXPECT_CONTAINS(Bitcast(x, PJRT_Buffer_Type_F32, {-2}).error, "negative");
  EXPECT_CONTAINS(Bitcast(x, PJRT_Buffer_Type_INVALID, {2}).error, "PJRT_Buffer_Bitcast");
  const int64_t column_major[] = {0, 1};
  PJRT_Buffer_MemoryLayout layout = {};
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major = column_major;
  layout.tiled.minor_to_major_size = 2;
  PJRT_Buffer* square = client.Put<float>({1, 2, 3, 4}, {4});
  layout.tiled.num_tiles = 1;
  EXPECT_CONTAINS(Bitcast(square, PJRT_Buffer_Type_F32, {2, 2}, &layout).error, "12: ");
  EXPECT_FALSE(IsDeleted(x));
  EXPECT_EQ(Get<float>(x), (Floats{1, 2}));
  const Cast y = Bitcast(x, PJRT_Buffer_Type_F32, {1, 2});
  EXPECT_CONTAINS(Bitcast(x, PJRT_Buffer_Type_F32, {2}).error, "3: ");  // deleted now
  DestroyBuffer(y.buffer);
  DestroyBuffer(x);
  DestroyBuffer(square);
}

TEST(Bitcast, OfArraysWithoutElements) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* x = client.Put<float>({}, {0, 3});
  const Cast y = Bitcast(x, PJRT_Buffer_Type_S8, {7, 0});
  EXPECT_EQ(y.error, "");
  EXPECT_EQ(Get<int8_t>(y.buffer).size(), size_t{0});
  DestroyBuffer(x);
  DestroyBuffer(y.buffer);
}

// The transfer into the old buffer still runs.
TEST(Bitcast, IsReadyWhenTheOldBufferWouldBe) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_Buffer* x = client.Put<float>({1, 2}, {2});
  const Cast y = Bitcast(x, PJRT_Buffer_Type_F32, {1, 2});
  DestroyBuffer(x);
  PJRT_Event* ready = ReadyEvent(y.buffer);
  EXPECT_FALSE(IsReady(ready));
  Fake::RunQueued();
  EXPECT_EQ(Finish(ready), "");
  EXPECT_EQ(Get<float>(y.buffer), (Floats{1, 2}));
  DestroyBuffer(y.buffer);
}

// A launch that the new buffer is donated to writes only when those who read the old one are done.
TEST(Bitcast, ReadersOfTheOldBufferAreWaitedFor) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {2, 2});
  Fake::Reset({.manual = true});
  auto read = Make<PJRT_Buffer_ToHostBuffer_Args>();
  Floats seen(4);
  read.src = x;
  read.dst = seen.data();
  read.dst_size = 16;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&read)), "");
  const Cast y = Bitcast(x, PJRT_Buffer_Type_F32, {4});
  DestroyBuffer(x);
  Execution run = Execute(inc, {{y.buffer}});
  EXPECT_EQ(Fake::BlocksReused(), 1);
  Fake::RunQueued();
  EXPECT_EQ(Finish(read.event), "");
  EXPECT_EQ(seen, (Floats{1, 2, 3, 4}));
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  Destroy(run);
  DestroyBuffer(y.buffer);
  DestroyLoaded(inc);
}

// Somebody outside looks at the memory, through the old buffer: nobody may write to it.
TEST(Bitcast, LeavesExternalReferencesWhatTheySee) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {2, 2});
  AddReference(x);
  const auto* outside = reinterpret_cast<const float*>(Address(x));
  const Cast y = Bitcast(x, PJRT_Buffer_Type_F32, {4});
  Execution run = Execute(inc, {{y.buffer}});
  EXPECT_EQ(Fake::BlocksReused(), 0);
  EXPECT_EQ(Get<float>(run.outputs[0][0])[0], 2.0f);
  Destroy(run);
  DestroyBuffer(y.buffer);
  EXPECT_EQ(outside[0], 1.0f);
  EXPECT_EQ(Fake::LiveBlocks(), 1);
  DropReference(x);
  EXPECT_EQ(Fake::LiveBlocks(), 0);
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

TEST(Bitcast, MayBeDonatedOn) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {2, 2});
  const Cast y = Bitcast(x, PJRT_Buffer_Type_F32, {4});
  Execution run = Execute(inc, {{y.buffer}});
  EXPECT_EQ(Fake::BlocksReused(), 1);
  EXPECT_TRUE(IsDeleted(y.buffer));
  Destroy(run);
  DestroyBuffer(x);
  DestroyBuffer(y.buffer);
  DestroyLoaded(inc);
}

TEST(Bitcast, OfAFailureIsThatFailure) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* late = client.Compile("late");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Execution run = Execute(late, {{x}});
  const Cast y = Bitcast(run.outputs[0][0], PJRT_Buffer_Type_F32, {2, 2});
  EXPECT_EQ(y.error, "");
  EXPECT_CONTAINS(Finish(ReadyEvent(y.buffer)), "it broke while running");
  DestroyBuffer(y.buffer);
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(late);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_DonateWithControlDependency
// A donated buffer, and what ends its dependency.
struct Dependent {
  PJRT_Buffer* buffer = nullptr;
  std::string error;
  void (*callback)(PJRT_Buffer_DonateWithControlDependency_Callback_Args*) = nullptr;
  void* data = nullptr;

  void End(PJRT_Error_Code code = PJRT_Error_Code_OK, const std::string& message = "") {
    auto args = Make<PJRT_Buffer_DonateWithControlDependency_Callback_Args>();
    args.callback_data = data;
    args.error_code = code;
    args.error_message = message.data();
    args.error_message_size = message.size();
    callback(&args);
  }
};

Dependent Donate(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_DonateWithControlDependency_Args>();
  args.buffer = buffer;
  Dependent dependent;
  dependent.error = Text(Api().PJRT_Buffer_DonateWithControlDependency(&args));
  dependent.buffer = args.out_buffer;
  dependent.callback = args.dependency_ready_callback;
  dependent.data = args.callback_data;
  return dependent;
}

TEST(ControlDependency, TheNewBufferWaitsForIt) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  const uintptr_t address = Address(x);
  Dependent y = Donate(x);
  EXPECT_EQ(y.error, "");
  EXPECT_TRUE(IsDeleted(x));
  DestroyBuffer(x);
  EXPECT_EQ(Address(y.buffer), address);
  PJRT_Event* ready = ReadyEvent(y.buffer);
  Execution run = Execute(inc, {{y.buffer}});
  EXPECT_FALSE(IsReady(ready));
  EXPECT_FALSE(IsReady(run.done[0]));
  y.End();
  EXPECT_EQ(Finish(ready), "");
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  EXPECT_EQ(Fake::BlocksReused(), 1);
  Destroy(run);
  DestroyBuffer(y.buffer);
  DestroyLoaded(inc);
}

TEST(ControlDependency, ItsFailureIsTheBuffers) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Dependent y = Donate(x);
  Execution run = Execute(inc, {{y.buffer}});
  y.End(PJRT_Error_Code_ABORTED, "the other side is gone");
  EXPECT_EQ(Finish(ReadyEvent(run.outputs[0][0])), "10: the other side is gone");
  Destroy(run);
  DestroyBuffer(y.buffer);
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

TEST(ControlDependency, OutlivesBuffersAndClient) {
  Fake::Reset();
  Dependent y;
  {
    TestClient client;
    PJRT_Buffer* x = client.Put<float>({1}, {1});
    y = Donate(x);
    DestroyBuffer(x);
    DestroyBuffer(y.buffer);
  }
  EXPECT_EQ(Fake::LiveDrivers(), 0);
  y.End();
}

TEST(ControlDependency, OfAFailureIsThatFailureAtOnce) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* late = client.Compile("late");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Execution run = Execute(late, {{x}});
  Execution poisoned = Execute(late, {{run.outputs[0][0]}});  // has no memory at all
  Dependent y = Donate(poisoned.outputs[0][0]);
  EXPECT_CONTAINS(Finish(ReadyEvent(y.buffer)), "it broke while running");
  y.End();
  DestroyBuffer(y.buffer);
  Destroy(poisoned);
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(late);
}

TEST(ControlDependency, RefusesADeletedBuffer) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* x = client.Put<float>({1}, {1});
  Dependent y = Donate(x);
  const Dependent again = Donate(x);
  EXPECT_CONTAINS(again.error, "3: PJRT_Buffer_DonateWithControlDependency");
  EXPECT_TRUE(again.buffer == nullptr);
  y.End();
  DestroyBuffer(y.buffer);
  DestroyBuffer(x);
}
#endif

TEST(Replace, IsTestedWhereTheApiHasIt) {}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
