// The profiler as frameworks call it; they ask for no null and set no struct_size.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "generated/features.h"
#include "generated/pjrt_extensions.h"
#include "plugin/api_test_util.h"
#include "plugin/extensions.h"
#include "plugin/fake_backend_test_util.h"
#include "plugin/profiler.h"
#include "plugin/proto.h"
#include "plugin/xspace_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

#if PJRT_SCAFFOLD_HAS_PJRT_Profiler_Extension
// The table by position: its size, a member that is not used, functions.
struct Table {
  size_t struct_size;
  void* priv;
  void* functions[8];
};
enum { kErrorDestroy, kErrorMessage, kErrorCode, kCreate, kDestroy, kStart, kStop, kCollect };

// An argument struct of machine words, full of garbage where the caller sets nothing.
struct Words {
  Words() { std::memset(word, 0xAB, sizeof(word)); }
  void* word[5];
};

const Table& ProfilerTableOf(const PJRT_Extension_Base* base) {
  const auto* extension = reinterpret_cast<const PJRT_Profiler_Extension*>(base);
  return *reinterpret_cast<const Table*>(extension->profiler_api);
}

void* CallTable(int function, Words& args) {
  const Table& table = ProfilerTableOf(ProfilerExtension(nullptr));
  return reinterpret_cast<void* (*)(void*)>(table.functions[function])(args.word);
}

// "9: the message", and frees the error.
std::string TextOf(void* error) {
  if (error == nullptr) return "";
  Words code, message, destroy;
  code.word[2] = message.word[2] = destroy.word[2] = error;
  EXPECT_TRUE(CallTable(kErrorCode, code) == nullptr);
  (void)CallTable(kErrorMessage, message);
  int number;
  std::memcpy(&number, &code.word[3], sizeof(number));
  std::string text = std::to_string(number) + ": " +
                     std::string(static_cast<const char*>(message.word[3]),
                                 reinterpret_cast<uintptr_t>(message.word[4]));
  (void)CallTable(kErrorDestroy, destroy);
  return text;
}

struct TestProfile {
  explicit TestProfile(std::string options = "") {
    Words create;
    create.word[1] = options.data();
    create.word[2] = reinterpret_cast<void*>(options.size());
    error = TextOf(CallTable(kCreate, create));
    handle = create.word[3];
  }
  ~TestProfile() { (void)Call(kDestroy); }
  std::string Call(int function) {
    Words args;
    args.word[1] = handle;
    return TextOf(CallTable(function, args));
  }
  ReadSpace Collect() {
    Words args;
    args.word[1] = handle;
    args.word[2] = nullptr;
    error = TextOf(CallTable(kCollect, args));
    if (!error.empty()) return {};
    return ParseXSpace(
        {static_cast<const char*>(args.word[2]), reinterpret_cast<uintptr_t>(args.word[3])});
  }
  void* handle = nullptr;
  std::string error;
};

std::string PlaneOf(int device) {
  return "/device:CUSTOM:" + std::string(kPlatformName) + ":" + std::to_string(device);
}

// "inc" on a float[4] that is put on the device, and back again.
void PutRunGet(TestClient& client, int device = 0) {
  PJRT_LoadedExecutable* const inc = client.Compile("inc");
  PJRT_Buffer* const in = client.Put<float>({1, 2, 3, 4}, {4}, device);
  const Execution run = Execute(inc, {{in}});
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(Get<float>(run.outputs[0][0])[0], 2.f);
  Destroy(run);
  DestroyBuffer(in);
  DestroyLoaded(inc);
}

TEST(ProfilerExtension, IsThere) {
  for (auto* node = Extensions(); node != nullptr; node = node->next)
    if (node->type == PJRT_Extension_Type_Profiler) return;
  ADD_FAILURE() << "no profiler in the chain";
}

// jaxlib up to 0.9 takes a table of this size only.
TEST(ProfilerExtension, TableHasTheSizeOfVersionOne) {
  const Table& table = ProfilerTableOf(ProfilerExtension(nullptr));
  EXPECT_EQ(table.struct_size, size_t{80});
  for (void* function : table.functions) EXPECT_TRUE(function != nullptr);
}

TEST(ProfilerExtension, RecordsExecutionsTransfersAndCompilations) {
  Fake::Reset({});
  TestClient client;
  TestProfile profile;
  const int64_t before = backend::Recorder::Now();
  EXPECT_EQ(profile.Call(kStart), "");
  PutRunGet(client);
  EXPECT_EQ(profile.Call(kStop), "");
  const int64_t after = backend::Recorder::Now();
  const ReadSpace space = profile.Collect();
  const ReadPlane* const device = space.Find(PlaneOf(0));
  ASSERT_TRUE(device != nullptr);

  const ReadLine* const programs = device->Find("XLA Modules");
  ASSERT_TRUE(programs != nullptr && programs->events.size() == 1);
  EXPECT_TRUE(before <= programs->timestamp_ns && programs->timestamp_ns <= after);
  const ReadEvent& run = programs->events[0];
  EXPECT_EQ(run.name, "inc");
  EXPECT_EQ(run.stats.at("replica_id"), "0");
  EXPECT_TRUE(run.stats.contains("run_id"));
  EXPECT_TRUE(programs->timestamp_ns + (run.offset_ps + run.duration_ps) / 1000 <= after);

  const ReadLine* const transfers = device->Find("Transfers");
  ASSERT_TRUE(transfers != nullptr && transfers->events.size() == 2);
  EXPECT_EQ(transfers->events[0].name, "host to device");
  EXPECT_EQ(transfers->events[1].name, "device to host");
  EXPECT_EQ(transfers->events[1].stats.at("bytes_transferred"), "16");

  const ReadPlane* const host = space.Find("/host:CPU");
  ASSERT_TRUE(host != nullptr);
  EXPECT_EQ(host->lines.at(0).events.at(0).name, "compile inc");
}

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_DonateWithControlDependency
// What a transfer waits for is no part of it.
TEST(ProfilerExtension, TransfersBeginWhenTheirArrayIsReady) {
  Fake::Reset({});
  TestClient client;
  PJRT_Buffer* const x = client.Put<float>({1}, {1});
  auto donate = Make<PJRT_Buffer_DonateWithControlDependency_Args>();
  donate.buffer = x;
  EXPECT_EQ(Text(Api().PJRT_Buffer_DonateWithControlDependency(&donate)), "");
  TestProfile profile;
  EXPECT_EQ(profile.Call(kStart), "");
  float y = 0;
  auto copy = Make<PJRT_Buffer_ToHostBuffer_Args>();
  copy.src = donate.out_buffer;
  copy.dst = &y;
  copy.dst_size = sizeof(y);
  EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&copy)), "");
  const int64_t waited_until = backend::Recorder::Now();
  auto end = Make<PJRT_Buffer_DonateWithControlDependency_Callback_Args>();
  end.callback_data = donate.callback_data;
  donate.dependency_ready_callback(&end);
  EXPECT_EQ(Finish(copy.event), "");
  EXPECT_EQ(profile.Call(kStop), "");
  const ReadSpace space = profile.Collect();
  const ReadPlane* const device = space.Find(PlaneOf(0));
  ASSERT_TRUE(device != nullptr);
  const ReadLine* const transfers = device->Find("Transfers");
  ASSERT_TRUE(transfers != nullptr && transfers->events.size() == 1);
  EXPECT_TRUE(transfers->timestamp_ns + transfers->events[0].offset_ps / 1000 >= waited_until);
  DestroyBuffer(donate.out_buffer);
  DestroyBuffer(x);
}
#endif

TEST(ProfilerExtension, NothingIsRecordedOutsideOfAProfile) {
  Fake::Reset({});
  TestClient client;
  TestProfile profile;
  PutRunGet(client);
  EXPECT_EQ(profile.Call(kStart), "");
  EXPECT_EQ(profile.Call(kStop), "");
  PutRunGet(client);
  EXPECT_TRUE(profile.Collect().planes.empty());
  EXPECT_TRUE(!Profiler::Get().recording());
}

TEST(ProfilerExtension, WorkWithoutAnEndIsLeftOut) {
  Fake::Reset({.manual = true});
  TestClient client;
  TestProfile profile;
  EXPECT_EQ(profile.Call(kStart), "");
  PJRT_Buffer* const buffer = client.Put<float>({1}, {1});
  EXPECT_EQ(profile.Call(kStop), "");
  Fake::RunQueued();
  DestroyBuffer(buffer);
  EXPECT_TRUE(profile.Collect().planes.empty());
}

TEST(ProfilerExtension, OutlivesClients) {
  Fake::Reset({});
  TestProfile profile;
  EXPECT_EQ(profile.Call(kStart), "");
  {
    TestClient client;
    PutRunGet(client);
  }
  EXPECT_EQ(Fake::LiveDrivers(), 0);
  EXPECT_EQ(profile.Call(kStop), "");
  EXPECT_TRUE(profile.Collect().Find(PlaneOf(0)) != nullptr);
}

TEST(ProfilerExtension, OneProfileAtATime) {
  TestProfile first, second;
  EXPECT_EQ(first.Call(kStart), "");
  EXPECT_CONTAINS(second.Call(kStart), "9: PLUGIN_Profiler_Start: another profile");
  EXPECT_EQ(second.Call(kStop), "");
  EXPECT_TRUE(Profiler::Get().recording());
  EXPECT_EQ(first.Call(kStart), "");  // runs already
  EXPECT_EQ(first.Call(kStop), "");
  EXPECT_EQ(second.Call(kStart), "");
  EXPECT_TRUE(second.Collect().planes.empty());
  EXPECT_CONTAINS(second.error, "9: PLUGIN_Profiler_CollectData: the profile runs");
}

TEST(ProfilerExtension, DestroyEndsTheProfile) {
  {
    EXPECT_EQ(TestProfile().Call(kStart), "");
  }
  EXPECT_TRUE(!Profiler::Get().recording());
  TestProfile next;
  EXPECT_EQ(next.Call(kStart), "");
}

// The size first, and then a copy where the caller wants it.
TEST(ProfilerExtension, CollectsInTwoSteps) {
  Fake::Reset({});
  TestClient client;
  TestProfile profile;
  (void)profile.Call(kStart);
  PutRunGet(client);
  (void)profile.Call(kStop);
  Words args;
  args.word[1] = profile.handle;
  args.word[2] = nullptr;
  EXPECT_TRUE(CallTable(kCollect, args) == nullptr);
  const void* const bytes = args.word[2];
  std::string copy(reinterpret_cast<uintptr_t>(args.word[3]), '\0');
  args.word[2] = copy.data();
  EXPECT_TRUE(CallTable(kCollect, args) == nullptr);
  EXPECT_EQ(std::memcmp(copy.data(), bytes, copy.size()), 0);
  EXPECT_TRUE(ParseXSpace(copy).Find(PlaneOf(0)) != nullptr);
}

TEST(ProfilerExtension, LevelsOfZeroRecordNothing) {
  Fake::Reset({});
  TestClient client;
  std::string options;
  PutVarint(5, 1, &options);  // the version, from which on levels count
  PutVarint(2, 1, &options);  // of the host
  TestProfile profile(options);
  EXPECT_EQ(profile.Call(kStart), "");
  PutRunGet(client);
  EXPECT_EQ(profile.Call(kStop), "");
  const ReadSpace space = profile.Collect();
  EXPECT_TRUE(space.Find("/host:CPU") != nullptr);
  EXPECT_TRUE(space.Find(PlaneOf(0)) == nullptr);
}

TEST(ProfilerExtension, RoomIsAnOption) {
  Fake::Reset({});
  TestClient client;
  std::string value, entry, options;
  PutVarint(3, 0, &value);
  PutBytes(1, std::string(kPlatformName) + "_profile_bytes", &entry);
  PutBytes(2, value, &entry);
  PutBytes(12, entry, &options);
  TestProfile profile(options);
  EXPECT_EQ(profile.Call(kStart), "");
  PutRunGet(client);
  EXPECT_EQ(profile.Call(kStop), "");
  const ReadSpace space = profile.Collect();
  ASSERT_TRUE(space.warnings.size() == 1);
  EXPECT_CONTAINS(space.warnings[0], "4 events");
}

TEST(ProfilerExtension, OptionsThatAreNoMessageAreRefused) {
  TestProfile profile("\xff");
  EXPECT_CONTAINS(profile.error, "3: PLUGIN_Profiler_Create");
  EXPECT_TRUE(profile.handle == nullptr);
}
#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
