// What was deleted can still be asked what it was, and destroyed; whoever wants its contents, or to
// run it, gets an error. PJRT_X_Delete leaves the handle alive, unlike PJRT_X_Destroy.

#include <string>
#include <vector>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/buffer.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

constexpr char kGone[] = "the buffer has been deleted or donated";

PJRT_Buffer* Deleted(TestClient& client) {
  PJRT_Buffer* buffer = client.Put<float>({1, 2, 3, 4}, {4});
  auto args = Make<PJRT_Buffer_Delete_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_Delete(&args)), "");
  EXPECT_EQ(Text(Api().PJRT_Buffer_Delete(&args)), "");  // twice is as good as once
  return buffer;
}

// The outcome of a function whose argument is a member `buffer`.
template <typename Args>
std::string Call(PJRT_Error* (*function)(Args*), PJRT_Buffer* buffer) {
  auto args = Make<Args>();
  args.buffer = buffer;
  return Text(function(&args));
}

TEST(DeletedBuffer, SaysWhatItWas) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = Deleted(client);
  const PJRT_Api& api = Api();
  EXPECT_EQ(Call(api.PJRT_Buffer_ElementType, buffer), "");
  EXPECT_EQ(Call(api.PJRT_Buffer_Dimensions, buffer), "");
  EXPECT_EQ(Call(api.PJRT_Buffer_UnpaddedDimensions, buffer), "");
  EXPECT_EQ(Call(api.PJRT_Buffer_DynamicDimensionIndices, buffer), "");
  EXPECT_EQ(Call(api.PJRT_Buffer_OnDeviceSizeInBytes, buffer), "");
  EXPECT_EQ(Call(api.PJRT_Buffer_Device, buffer), "");
  EXPECT_EQ(Call(api.PJRT_Buffer_Memory, buffer), "");
  EXPECT_EQ(Call(api.PJRT_Buffer_IsOnCpu, buffer), "");
  EXPECT_TRUE(IsDeleted(buffer));
  auto size = Make<PJRT_Buffer_ToHostBuffer_Args>();  // also how many bytes it had
  size.src = buffer;
  EXPECT_EQ(Text(api.PJRT_Buffer_ToHostBuffer(&size)), "");
  EXPECT_EQ(size.dst_size, size_t{16});
  DestroyBuffer(buffer);
}

// pitfall 66: success with a null address; a donated buffer is read
TEST(DeletedBuffer, HasNoContents) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = Deleted(client);
  const PJRT_Api& api = Api();
  std::string error;
  GetBytes(buffer, &error);
  EXPECT_CONTAINS(error, kGone);
  EXPECT_CONTAINS(Call(api.PJRT_Buffer_UnsafePointer, buffer), kGone);
  EXPECT_CONTAINS(Call(api.PJRT_Buffer_OpaqueDeviceMemoryDataPointer, buffer), kGone);
  EXPECT_CONTAINS(Call(api.PJRT_Buffer_IncreaseExternalReferenceCount, buffer), kGone);
  EXPECT_CONTAINS(Call(api.PJRT_Buffer_DecreaseExternalReferenceCount, buffer),
                  "no external reference");
  auto to_device = Make<PJRT_Buffer_CopyToDevice_Args>();
  to_device.buffer = buffer;
  to_device.dst_device = client.device(1);
  EXPECT_CONTAINS(Text(api.PJRT_Buffer_CopyToDevice(&to_device)), kGone);
  auto to_memory = Make<PJRT_Buffer_CopyToMemory_Args>();
  to_memory.buffer = buffer;
  to_memory.dst_memory = client.memory(0, "pinned_host");
  EXPECT_CONTAINS(Text(api.PJRT_Buffer_CopyToMemory(&to_memory)), kGone);
#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_CopyRawToHost
  EXPECT_CONTAINS(Call(api.PJRT_Buffer_CopyRawToHost, buffer), kGone);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_CopyRawToHostFuture
  EXPECT_CONTAINS(Call(api.PJRT_Buffer_CopyRawToHostFuture, buffer), kGone);
#endif
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  EXPECT_CONTAINS(Execute(inc, {{buffer}}).error, kGone);
  DestroyLoaded(inc);
  DestroyBuffer(buffer);
  EXPECT_EQ(Fake::LiveBlocks(), 0);
}

TEST(DeletedBuffer, StaysDeletedWhenALaunchGivesItBack) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* c_buffer = client.Put<float>({1, 2, 3, 4}, {4});
  Buffer& buffer = *FromC(c_buffer);
  Buffer::Donation donation;
  EXPECT_TRUE(buffer.Donate(&donation));
  buffer.TakeBack(std::move(donation));
  EXPECT_FALSE(buffer.IsDeleted());
  EXPECT_TRUE(buffer.Donate(&donation));
  buffer.Delete();  // by another thread, while the launch fails
  buffer.TakeBack(std::move(donation));
  EXPECT_TRUE(buffer.IsDeleted());
  EXPECT_EQ(Fake::LiveBlocks(), 0);
  DestroyBuffer(c_buffer);
}

TEST(DeletedExecutable, AnswersButDoesNotRun) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  auto args = Make<PJRT_LoadedExecutable_Delete_Args>();
  args.executable = inc;
  EXPECT_EQ(Text(Api().PJRT_LoadedExecutable_Delete(&args)), "");
  EXPECT_EQ(Text(Api().PJRT_LoadedExecutable_Delete(&args)), "");
  auto deleted = Make<PJRT_LoadedExecutable_IsDeleted_Args>();
  deleted.executable = inc;
  EXPECT_EQ(Text(Api().PJRT_LoadedExecutable_IsDeleted(&deleted)), "");
  EXPECT_TRUE(deleted.is_deleted);
  auto devices = Make<PJRT_LoadedExecutable_AddressableDevices_Args>();
  devices.executable = inc;
  EXPECT_EQ(Text(Api().PJRT_LoadedExecutable_AddressableDevices(&devices)), "");
  EXPECT_EQ(devices.num_addressable_devices, size_t{1});
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  EXPECT_CONTAINS(Execute(inc, {{x}}).error,
                  "9: PJRT_LoadedExecutable_Execute: the executable of "
                  "inc has been deleted");
  EXPECT_FALSE(IsDeleted(x));  // nothing was donated
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
