#include "plugin/buffer.h"

#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "plugin/api_test_util.h"
#include "plugin/dtype.h"
#include "plugin/fake_backend_test_util.h"
#include "plugin/host_copy.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using Floats = std::vector<float>;

struct Put {
  PJRT_Buffer* buffer = nullptr;
  PJRT_Event* done = nullptr;
  std::string error;
};

Put PutWith(const TestClient& client, PJRT_HostBufferSemantics semantics, const Floats& data,
            const std::vector<int64_t>& dims, const std::vector<int64_t>& strides = {},
            size_t offset = 0, PJRT_Memory* memory = nullptr) {
  auto args = Make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client.client;
  args.data = data.data() + offset;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.byte_strides = strides.empty() ? nullptr : strides.data();
  args.num_byte_strides = strides.size();
  args.host_buffer_semantics = semantics;
  args.memory = memory != nullptr ? memory : client.memory(0, "device");
  Put put;
  put.error = Text(Api().PJRT_Client_BufferFromHostBuffer(&args));
  if (put.error.empty()) {
    put.buffer = args.buffer;
    put.done = args.done_with_host_buffer;
  }
  return put;
}

std::string ReadyText(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer;
  std::string text = Text(Api().PJRT_Buffer_ReadyEvent(&args));
  return text.empty() ? Finish(args.event) : text;
}

constexpr auto kDuringCall = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
constexpr auto kUntilDone = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes;
constexpr auto kZeroCopy = PJRT_HostBufferSemantics_kImmutableZeroCopy;
constexpr auto kMutableZeroCopy = PJRT_HostBufferSemantics_kMutableZeroCopy;

// pitfall 63: host data is freed or changed while the transfer still reads it
TEST(FromHost, DuringCallTheMemoryIsFreeAtOnce) {
  for (bool host_accessible : {false, true}) {
    Fake::Reset({.host_accessible = host_accessible, .manual = true});
    TestClient client;
    Floats data = {1, 2, 3};
    Put put = PutWith(client, kDuringCall, data, {3});
    EXPECT_TRUE(IsReady(put.done));
    data.assign(3, 0);
    EXPECT_EQ(Get<float>(put.buffer), (Floats{1, 2, 3}));
    DestroyEvent(put.done);
    DestroyBuffer(put.buffer);
  }
}

// pitfall 63: host data is freed or changed while the transfer still reads it
TEST(FromHost, UntilTransferCompletesIsReadThere) {
  Fake::Reset({.manual = true});
  TestClient client;
  Floats data = {1, 2, 3};
  Put put = PutWith(client, kUntilDone, data, {3});
  EXPECT_FALSE(IsReady(put.done));
  data[0] = 7;  // not allowed to callers: it shows that the memory was not copied
  Fake::RunQueued();
  EXPECT_TRUE(IsReady(put.done));
  data.assign(3, 0);
  EXPECT_EQ(Get<float>(put.buffer), (Floats{7, 2, 3}));
  DestroyEvent(put.done);
  DestroyBuffer(put.buffer);
}

TEST(FromHost, ZeroCopySharesWhatIsWorthIt) {
  Fake::Reset({.host_accessible = true, .can_wrap = true});
  TestClient client;
  Floats data(10000, 1.0f);
  for (auto semantics : {kZeroCopy, kMutableZeroCopy}) {
    Put put = PutWith(client, semantics, data, {10000});
    EXPECT_FALSE(IsReady(put.done));
    auto pointer = Make<PJRT_Buffer_UnsafePointer_Args>();
    pointer.buffer = put.buffer;
    (void)Api().PJRT_Buffer_UnsafePointer(&pointer);
    EXPECT_EQ(pointer.buffer_pointer, reinterpret_cast<uintptr_t>(data.data()));
    DestroyBuffer(put.buffer);
    EXPECT_TRUE(IsReady(put.done));
    DestroyEvent(put.done);
  }
  Put small = PutWith(client, kZeroCopy, data, {3});
  EXPECT_TRUE(IsReady(small.done));
  DestroyEvent(small.done);
  DestroyBuffer(small.buffer);
}

// pitfall 56: strides of host arrays are ignored, so a transpose arrives wrong
TEST(FromHost, StridesOfAnySign) {
  for (bool host_accessible : {false, true}) {
    Fake::Reset({.host_accessible = host_accessible});
    TestClient client;
    const Floats data = {0, 1, 2, 3, 4, 5};
    struct {
      std::vector<int64_t> dims, strides;
      size_t offset;
      Floats want;
    } cases[] = {
        {{3, 2}, {4, 12}, 0, {0, 3, 1, 4, 2, 5}},  // transposed
        {{6}, {-4}, 5, {5, 4, 3, 2, 1, 0}},        // backwards
        {{2, 3}, {0, 4}, 0, {0, 1, 2, 0, 1, 2}},   // broadcast
        {{3}, {8}, 1, {1, 3, 5}},                  // every other one
        {{}, {}, 4, {4}},
        {{0, 3}, {12, 4}, 0, {}},
    };
    for (const auto& one : cases) {
      Put put = PutWith(client, kZeroCopy, data, one.dims, one.strides, one.offset);
      EXPECT_EQ(put.error, "");
      EXPECT_EQ(Get<float>(put.buffer), one.want);
      EXPECT_EQ(Finish(put.done), "");
      DestroyBuffer(put.buffer);
    }
  }
}

// pitfall 61: arrays of narrow integers fail
TEST(FromHost, EveryTypeByteByByte) {
  Fake::Reset();
  TestClient client;
  std::vector<uint8_t> data(64);
  for (size_t i = 0; i < data.size(); ++i) data[i] = uint8_t(i * 37 + 11);
  for (size_t t = 0; t < backend::kNumDTypes; ++t) {
    const auto dtype = backend::DType(t);
    const PJRT_Buffer_Type type = ToBufferType(dtype);
    if (type == PJRT_Buffer_Type_INVALID) continue;  // not in this API version
    EXPECT_TRUE(*ToDType(type, "F") == dtype);
    PJRT_Buffer* buffer = client.PutData(data.data(), type, {3});
    auto args = Make<PJRT_Buffer_ElementType_Args>();
    args.buffer = buffer;
    (void)Api().PJRT_Buffer_ElementType(&args);
    EXPECT_EQ(int(args.type), int(type));
    const std::vector<std::byte> bytes = GetBytes(buffer);
    EXPECT_EQ(bytes.size(), 3 * DTypeBytes(dtype));
    EXPECT_EQ(std::memcmp(bytes.data(), data.data(), bytes.size()), 0);
    DestroyBuffer(buffer);
  }
  EXPECT_TRUE(client.PutData(data.data(), PJRT_Buffer_Type_TOKEN, {}) == nullptr);
  EXPECT_CONTAINS(client.error, "token");
}

// pitfall 62: freeing a buffer of a type that is not supported crashes
TEST(FromHost, RefusesWhatCannotBe) {
  Fake::Reset();
  TestClient client;
  EXPECT_CONTAINS(PutWith(client, kDuringCall, {1}, {1}, {4, 4}).error, "2 byte strides for 1");
  EXPECT_TRUE(client.PutData(nullptr, PJRT_Buffer_Type_F32, {2}) == nullptr);
  EXPECT_CONTAINS(client.error, "data is null");
  PJRT_Buffer* empty = client.PutData(nullptr, PJRT_Buffer_Type_F32, {0, 2});
  EXPECT_EQ(client.error, "");
  DestroyBuffer(empty);
  EXPECT_TRUE(client.PutData(&client, PJRT_Buffer_Type_F32, {int64_t{1} << 40}) == nullptr);
  EXPECT_CONTAINS(client.error, "fake memory is full");
  TestClient other;
  Put foreign = PutWith(client, kDuringCall, {1}, {1}, {}, 0, other.memory(0, "device"));
  EXPECT_CONTAINS(foreign.error, "another client");
  auto both = Make<PJRT_Client_BufferFromHostBuffer_Args>();
  both.client = client.client;
  both.type = PJRT_Buffer_Type_F32;
  both.memory = client.memory(0, "device");
  both.device = client.device(1);
  EXPECT_CONTAINS(Text(Api().PJRT_Client_BufferFromHostBuffer(&both)), "1 cannot address");
}

// A caller newer than this API may know semantics that it does not: the memory is then not touched
// after the call.
TEST(FromHost, RefusesStridesThatLeaveMemory) {
  Fake::Reset();
  TestClient client;
  for (int64_t stride :
       {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    const Put put = PutWith(client, kDuringCall, {1, 2}, {2, 1}, {stride, 4});
    EXPECT_CONTAINS(put.error, "3: PJRT_Client_BufferFromHostBuffer: with strides [");
  }
}

TEST(FromHost, UnknownSemanticsAreTheStrictest) {
  Fake::Reset({.manual = true});
  TestClient client;
  Floats data = {1, 2};
  const int64_t dims[] = {2};
  auto args = Make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client.client;
  args.data = data.data();
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims;
  args.num_dims = 1;
  const int unknown = 77;
  std::memcpy(&args.host_buffer_semantics, &unknown, sizeof(unknown));
  args.device = client.device(0);
  EXPECT_EQ(Text(Api().PJRT_Client_BufferFromHostBuffer(&args)), "");
  EXPECT_EQ(Finish(args.done_with_host_buffer), "");
  data = {8, 9};
  EXPECT_EQ(Get<float>(args.buffer), (Floats{1, 2}));
  DestroyBuffer(args.buffer);
}

// pitfall 57: the size that a copy to the host needs is the padded one of the device
// pitfall 70: results in another layout come back transposed
TEST(ToHost, LayoutsAndSizes) {
  for (bool host_accessible : {false, true}) {
    Fake::Reset({.host_accessible = host_accessible});
    TestClient client;
    PJRT_Buffer* buffer = client.Put<float>({0, 1, 2, 3, 4, 5}, {2, 3});
    const int64_t column_major[] = {0, 1};
    PJRT_Buffer_MemoryLayout layout = {};  // no struct_size, as frameworks leave it
    layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    layout.tiled.minor_to_major = column_major;
    layout.tiled.minor_to_major_size = 2;
    auto args = Make<PJRT_Buffer_ToHostBuffer_Args>();
    args.src = buffer;
    args.host_layout = &layout;
    EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&args)), "");
    EXPECT_EQ(args.dst_size, size_t{24});
    Floats out(6);
    args.dst = out.data();
    args.dst_size = 23;
    EXPECT_CONTAINS(Text(Api().PJRT_Buffer_ToHostBuffer(&args)), "dst_size is 23");
    args.dst_size = 24;
    EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&args)), "");
    EXPECT_EQ(Finish(args.event), "");
    EXPECT_EQ(out, (Floats{0, 3, 1, 4, 2, 5}));

    const int64_t with_gaps[] = {16, 4};
    layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
    layout.strides.byte_strides = with_gaps;
    layout.strides.num_byte_strides = 2;
    args.dst = nullptr;
    EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&args)), "");
    EXPECT_EQ(args.dst_size, size_t{28});
    Floats gaps(7, -1);
    args.dst = gaps.data();
    EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&args)), "");
    EXPECT_EQ(Finish(args.event), "");
    EXPECT_EQ(gaps, (Floats{0, 1, 2, -1, 3, 4, 5}));
    const int64_t backwards[] = {12, -4};
    layout.strides.byte_strides = backwards;
    EXPECT_CONTAINS(Text(Api().PJRT_Buffer_ToHostBuffer(&args)), "must be positive");
    const int64_t far[] = {int64_t{1} << 62, int64_t{1} << 62};
    layout.strides.byte_strides = far;
    EXPECT_CONTAINS(Text(Api().PJRT_Buffer_ToHostBuffer(&args)), "beyond what memory can be");
    DestroyBuffer(buffer);
  }
}

TEST(ToHost, WaitsForTheContents) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2}, {2});
  Floats out(2);
  auto args = Make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  args.dst = out.data();
  args.dst_size = 8;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&args)), "");
  DestroyBuffer(buffer);  // the transfer goes on
  EXPECT_FALSE(IsReady(args.event));
  Fake::RunQueued();
  EXPECT_EQ(Finish(args.event), "");
  EXPECT_EQ(out, (Floats{1, 2}));
  EXPECT_EQ(Fake::LiveBlocks(), 0);
}

// pitfall 11: a clean-up path that cannot fail is not implemented, and the framework aborts
TEST(Buffer, DeletedOnesRefuse) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2}, {2});
  EXPECT_FALSE(IsDeleted(buffer));
  auto args = Make<PJRT_Buffer_Delete_Args>();
  args.buffer = buffer;
  (void)Api().PJRT_Buffer_Delete(&args);
  EXPECT_TRUE(IsDeleted(buffer));
  EXPECT_EQ(Fake::LiveBlocks(), 0);
  std::string error;
  GetBytes(buffer, &error);
  EXPECT_CONTAINS(error, "3: PJRT_Buffer_ToHostBuffer: the buffer has been deleted or donated");
  EXPECT_CONTAINS(ReadyText(buffer), "deleted");
  auto dims = Make<PJRT_Buffer_Dimensions_Args>();
  dims.buffer = buffer;
  (void)Api().PJRT_Buffer_Dimensions(&dims);
  EXPECT_EQ(dims.num_dims, size_t{1});
  DestroyBuffer(buffer);
}

TEST(Buffer, ExternalReferencesKeepTheMemory) {
  Fake::Reset({.host_accessible = true});
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2}, {2});
  auto on_cpu = Make<PJRT_Buffer_IsOnCpu_Args>();
  on_cpu.buffer = buffer;
  (void)Api().PJRT_Buffer_IsOnCpu(&on_cpu);
  EXPECT_TRUE(on_cpu.is_on_cpu);
  auto add = Make<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
  add.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_IncreaseExternalReferenceCount(&add)), "");
  auto address = Make<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>();
  address.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&address)), "");
  const float* view = static_cast<float*>(address.device_memory_ptr);
  auto remove = Make<PJRT_Buffer_Delete_Args>();
  remove.buffer = buffer;
  (void)Api().PJRT_Buffer_Delete(&remove);
  EXPECT_EQ(view[1], 2.0f);
  auto drop = Make<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
  drop.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_DecreaseExternalReferenceCount(&drop)), "");
  EXPECT_EQ(Fake::LiveBlocks(), 0);
  EXPECT_CONTAINS(Text(Api().PJRT_Buffer_DecreaseExternalReferenceCount(&drop)), "no external");
  EXPECT_CONTAINS(Text(Api().PJRT_Buffer_IncreaseExternalReferenceCount(&add)), "deleted");
  EXPECT_CONTAINS(Text(Api().PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&address)), "deleted");
  DestroyBuffer(buffer);
}

// pitfall 13: copies between devices and memory analysis jump to null
TEST(Copy, ToOtherDevicesAndMemories) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2}, {2});
  auto to_device = Make<PJRT_Buffer_CopyToDevice_Args>();
  to_device.buffer = buffer;
  to_device.dst_device = client.device(3);
  EXPECT_EQ(Text(Api().PJRT_Buffer_CopyToDevice(&to_device)), "");
  auto to_memory = Make<PJRT_Buffer_CopyToMemory_Args>();
  to_memory.buffer = to_device.dst_buffer;
  to_memory.dst_memory = client.memory(1, "pinned_host");
  EXPECT_EQ(Text(Api().PJRT_Buffer_CopyToMemory(&to_memory)), "");
  auto device = Make<PJRT_Buffer_Device_Args>();
  device.buffer = to_memory.dst_buffer;
  (void)Api().PJRT_Buffer_Device(&device);
  EXPECT_TRUE(device.device == client.device(1));
  auto memory = Make<PJRT_Buffer_Memory_Args>();
  memory.buffer = to_memory.dst_buffer;
  (void)Api().PJRT_Buffer_Memory(&memory);
  EXPECT_TRUE(memory.memory == client.memory(1, "pinned_host"));
  EXPECT_EQ(Get<float>(to_memory.dst_buffer), (Floats{1, 2}));
  TestClient other;
  to_memory.dst_memory = other.memory(0, "device");
  EXPECT_CONTAINS(Text(Api().PJRT_Buffer_CopyToMemory(&to_memory)), "another client");
  DestroyBuffer(buffer);
  DestroyBuffer(to_device.dst_buffer);
  DestroyBuffer(to_memory.dst_buffer);
}

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_CopyRawToHost
TEST(Copy, RawParts) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2, 3}, {3});
  Floats out(2);
  auto args = Make<PJRT_Buffer_CopyRawToHost_Args>();
  args.buffer = buffer;
  args.dst = out.data();
  args.offset = 4;
  args.transfer_size = 8;
  EXPECT_EQ(Text(Api().PJRT_Buffer_CopyRawToHost(&args)), "");
  EXPECT_EQ(Finish(args.event), "");
  EXPECT_EQ(out, (Floats{2, 3}));
  args.offset = 8;
  EXPECT_CONTAINS(Text(Api().PJRT_Buffer_CopyRawToHost(&args)), "reach outside");
  args.offset = 0;
  args.dst = nullptr;
  EXPECT_CONTAINS(Text(Api().PJRT_Buffer_CopyRawToHost(&args)), "dst is null");
  DestroyBuffer(buffer);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_CopyRawToHostFuture
TEST(Copy, RawPartsToALaterAddress) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2, 3}, {3});
  for (bool fails : {false, true}) {
    auto args = Make<PJRT_Buffer_CopyRawToHostFuture_Args>();
    args.buffer = buffer;
    args.offset = 8;
    args.transfer_size = 4;
    EXPECT_EQ(Text(Api().PJRT_Buffer_CopyRawToHostFuture(&args)), "");
    EXPECT_FALSE(IsReady(args.event));
    float out = 0;
    auto ready = Make<PJRT_Buffer_CopyRawToHostFuture_Callback_Args>();
    ready.callback_data = args.callback_data;
    ready.error_code = fails ? PJRT_Error_Code_ABORTED : PJRT_Error_Code_OK;
    ready.error_message = "stop";
    ready.error_message_size = 4;
    ready.dst = &out;
    args.future_ready_callback(&ready);
    EXPECT_EQ(Finish(args.event), fails ? "10: stop" : "");
    EXPECT_EQ(out, fails ? 0.0f : 3.0f);
  }
  // The address may turn out to be none.
  auto args = Make<PJRT_Buffer_CopyRawToHostFuture_Args>();
  args.buffer = buffer;
  args.transfer_size = 12;
  EXPECT_EQ(Text(Api().PJRT_Buffer_CopyRawToHostFuture(&args)), "");
  auto ready = Make<PJRT_Buffer_CopyRawToHostFuture_Callback_Args>();
  ready.callback_data = args.callback_data;
  args.future_ready_callback(&ready);
  EXPECT_CONTAINS(Finish(args.event), "dst is null, but it should point to 12 bytes");
  DestroyBuffer(buffer);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Client_CreateErrorBuffer
TEST(ErrorBuffer, CarriesItsFailureOn) {
  Fake::Reset();
  TestClient client;
  const int64_t dims[] = {4};
  auto args = Make<PJRT_Client_CreateErrorBuffer_Args>();
  args.client = client.client;
  args.error_code = PJRT_Error_Code_DATA_LOSS;
  args.error_message = "lost";
  args.error_message_size = 4;
  args.shape_dims = dims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.memory = client.memory(1, "device");
  EXPECT_EQ(Text(Api().PJRT_Client_CreateErrorBuffer(&args)), "");
  EXPECT_EQ(ReadyText(args.buffer), "15: lost");
  std::string error;
  GetBytes(args.buffer, &error);
  EXPECT_EQ(error, "15: lost");
  auto copy = Make<PJRT_Buffer_CopyToMemory_Args>();
  copy.buffer = args.buffer;
  copy.dst_memory = client.memory(0, "device");
  EXPECT_EQ(Text(Api().PJRT_Buffer_CopyToMemory(&copy)), "");
  EXPECT_EQ(ReadyText(copy.dst_buffer), "15: lost");
  DestroyBuffer(args.buffer);
  DestroyBuffer(copy.dst_buffer);
}
#endif

TEST(View, CallsBackWhenItIsNoLongerUsed) {
  Fake::Reset({.can_wrap = true});
  TestClient client;
  Floats data = {1, 2};
  const int64_t dims[] = {2};
  int calls = 0;
  auto args = Make<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
  args.client = client.client;
  args.device_buffer_ptr = data.data();
  args.dims = dims;
  args.num_dims = 1;
  args.element_type = PJRT_Buffer_Type_F32;
  args.device = client.device(0);
  args.on_delete_callback = [](void*, void* calls) { ++*static_cast<int*>(calls); };
  args.on_delete_callback_arg = &calls;
  EXPECT_EQ(Text(Api().PJRT_Client_CreateViewOfDeviceBuffer(&args)), "");
  EXPECT_EQ(Get<float>(args.buffer), data);
  EXPECT_EQ(calls, 0);
  DestroyBuffer(args.buffer);
  EXPECT_EQ(calls, 1);
  args.device_buffer_ptr = nullptr;
  EXPECT_CONTAINS(Text(Api().PJRT_Client_CreateViewOfDeviceBuffer(&args)), "is null");
}

// The client's driver stays until its last buffer is gone, whatever goes first.
// pitfall 49: destroying buffers after the client crashes
TEST(Lifetime, BuffersOutliveTheClient) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2}, {2});
  client.Destroy();
  EXPECT_EQ(Fake::LiveDrivers(), 1);
  EXPECT_EQ(Get<float>(buffer), (Floats{1, 2}));
  DestroyBuffer(buffer);
  EXPECT_EQ(Fake::LiveDrivers(), 0);
  EXPECT_EQ(Fake::LiveBlocks(), 0);
}

// pitfall 53: threads race for whether a buffer is deleted or ready
TEST(Lifetime, ReadsAndDeletesFromManyThreads) {
  Fake::Reset();
  for (int round = 0; round < 50; ++round) {
    TestClient client;
    PJRT_Buffer* buffer = client.Put<float>({1, 2}, {2});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 10; ++i) {
          std::string error;
          const std::vector<std::byte> bytes = GetBytes(buffer, &error);
          if (error.empty()) EXPECT_EQ(reinterpret_cast<const float*>(bytes.data())[1], 2.0f);
        }
        if (t == 0) {
          auto args = Make<PJRT_Buffer_Delete_Args>();
          args.buffer = buffer;
          (void)Api().PJRT_Buffer_Delete(&args);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    DestroyBuffer(buffer);
  }
  EXPECT_EQ(Fake::LiveBlocks(), 0);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
