// Device memory that the host cannot touch: every way in and out goes through copies, at the time
// that the caller was promised. Whatever of the layer followed an address would end the process.

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "testing/accelerator/accelerator_test_util.h"
#include "testing/test.h"

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace PJRT_PLUGIN_NS::accelerator {
namespace {

using plugin::Api;
using plugin::DestroyBuffer;
using plugin::DestroyLoaded;
using plugin::Execute;
using plugin::Execution;
using plugin::Finish;
using plugin::Get;
using plugin::IsReady;
using plugin::Make;
using plugin::Text;

uintptr_t Address(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_UnsafePointer_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_UnsafePointer(&args)), "");
  return args.buffer_pointer;
}

#if !defined(_WIN32)  // no fork there

TEST(DeviceMemory, FaultsWhenTheHostTouchesIt) {
  Bench bench;
  PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
  EXPECT_EQ(ReadyText(x), "");
  auto on_cpu = Make<PJRT_Buffer_IsOnCpu_Args>();
  on_cpu.buffer = x;
  EXPECT_EQ(Text(Api().PJRT_Buffer_IsOnCpu(&on_cpu)), "");
  EXPECT_FALSE(on_cpu.is_on_cpu);
  const auto* const address = reinterpret_cast<const volatile char*>(Address(x));
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer has a handler of its own
    signal(SIGBUS, SIG_DFL);
    _exit(*address == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  DestroyBuffer(x);
}

#endif

// The four promises about host memory, on a device that gets to its work late.
TEST(HostBuffer, DuringCallTheMemoryIsFreeAtOnce) {
  Gate gate(Work::kCopy);
  Bench bench({.on_start = gate.Hook()});
  Floats data = {1, 2, 3, 4};
  PJRT_Event* done = nullptr;
  PJRT_Buffer* x = bench.Put(data, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, &done);
  EXPECT_EQ(Finish(done), "");
  data = {9, 9, 9, 9};
  gate.Open();
  EXPECT_EQ(Get<float>(x), (Floats{1, 2, 3, 4}));
  DestroyBuffer(x);
}

TEST(HostBuffer, TheOthersAreReadUntilTheCopyIsOver) {
  for (const auto semantics :
       {PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
        PJRT_HostBufferSemantics_kImmutableZeroCopy, PJRT_HostBufferSemantics_kMutableZeroCopy}) {
    Gate gate(Work::kCopy);
    Bench bench({.on_start = gate.Hook()});
    Floats data(8192, 3);  // worth sharing, where the memory is the host's
    PJRT_Event* done = nullptr;
    PJRT_Buffer* x = bench.Put(data, semantics, &done);
    ASSERT_TRUE(gate.AwaitArrivals(1));
    EXPECT_FALSE(IsReady(done));
    gate.Open();
    EXPECT_EQ(Finish(done), "");
    data.assign(data.size(), 9);
    EXPECT_EQ(Get<float>(x), Floats(8192, 3));
    DestroyBuffer(x);
  }
}

TEST(HostBuffer, ZeroCopySharesHostMemory) {
  Bench bench({}, {.can_wrap = true});
  const Floats data(8192, 3);
  PJRT_Event* done = nullptr;
  PJRT_Buffer* x = bench.Put(data, PJRT_HostBufferSemantics_kImmutableZeroCopy, &done,
                             bench.client->memory(0, "pinned_host"));
  EXPECT_EQ(Address(x), reinterpret_cast<uintptr_t>(data.data()));
  EXPECT_FALSE(IsReady(done));  // not as long as the array is there
  EXPECT_EQ(Get<float>(x), data);
  DestroyBuffer(x);
  EXPECT_EQ(Finish(done), "");
}

TEST(Donation, TheResultIsInTheArgumentsMemory) {
  Bench bench({.memory_bytes = 16});
  PJRT_LoadedExecutable* inc = bench.Compile("inc");
  PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
  const uintptr_t address = Address(x);
  Execution run = Execute(inc, {{x}});
  EXPECT_EQ(run.error, "");
  EXPECT_TRUE(plugin::IsDeleted(x));
  EXPECT_EQ(Address(run.outputs[0][0]), address);
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

TEST(Copies, BetweenDevicesAndMemories) {
  Bench bench;
  PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
  auto to_device = Make<PJRT_Buffer_CopyToDevice_Args>();
  to_device.buffer = x;
  to_device.dst_device = bench.client->device(2);
  EXPECT_EQ(Text(Api().PJRT_Buffer_CopyToDevice(&to_device)), "");
  auto to_memory = Make<PJRT_Buffer_CopyToMemory_Args>();
  to_memory.buffer = to_device.dst_buffer;
  to_memory.dst_memory = bench.client->memory(1, "pinned_host");
  EXPECT_EQ(Text(Api().PJRT_Buffer_CopyToMemory(&to_memory)), "");
  EXPECT_EQ(ReadyText(to_memory.dst_buffer), "");
  const auto* const seen = reinterpret_cast<const float*>(Address(to_memory.dst_buffer));
  EXPECT_EQ(Floats(seen, seen + 4), (Floats{1, 2, 3, 4}));
  for (PJRT_Buffer* one : {x, to_device.dst_buffer, to_memory.dst_buffer}) DestroyBuffer(one);
}

// The caller's layouts are made on the host's side of the copies.
TEST(Copies, OfTransposedArrays) {
  Bench bench;
  const Floats data = {1, 2, 3, 4, 5, 6};
  const int64_t dims[] = {3, 2}, strides[] = {4, 12};
  auto put = Make<PJRT_Client_BufferFromHostBuffer_Args>();
  put.client = bench.client->client;
  put.data = data.data();
  put.type = PJRT_Buffer_Type_F32;
  put.dims = dims;
  put.num_dims = 2;
  put.byte_strides = strides;
  put.num_byte_strides = 2;
  put.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes;
  put.device = bench.client->device(0);
  EXPECT_EQ(Text(Api().PJRT_Client_BufferFromHostBuffer(&put)), "");
  EXPECT_EQ(Finish(put.done_with_host_buffer), "");
  EXPECT_EQ(Get<float>(put.buffer), (Floats{1, 4, 2, 5, 3, 6}));
  PJRT_Buffer_MemoryLayout layout = {};
  layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  layout.strides.byte_strides = strides;
  layout.strides.num_byte_strides = 2;
  Floats back(6);
  auto get = Make<PJRT_Buffer_ToHostBuffer_Args>();
  get.src = put.buffer;
  get.host_layout = &layout;
  get.dst = back.data();
  get.dst_size = sizeof(float) * back.size();
  EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&get)), "");
  EXPECT_EQ(Finish(get.event), "");
  EXPECT_EQ(back, data);
  DestroyBuffer(put.buffer);
}

#if PJRT_SCAFFOLD_HAS_PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer
// A program is launched before the pieces of its argument are sent, by the same queue.
TEST(Copies, InPiecesToAProgramThatWaits) {
  Bench bench;
  PJRT_LoadedExecutable* inc = bench.Compile("inc");
  const int64_t dims[] = {4};
  auto spec = Make<PJRT_ShapeSpec>();
  spec.dims = dims;
  spec.num_dims = 1;
  spec.element_type = PJRT_Buffer_Type_F32;
  auto create = Make<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
  create.client = bench.client->client;
  create.shape_specs = &spec;
  create.num_shape_specs = 1;
  create.memory = bench.client->memory(0, "device");
  EXPECT_EQ(Text(Api().PJRT_Client_CreateBuffersForAsyncHostToDevice(&create)), "");
  auto retrieve = Make<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
  retrieve.transfer_manager = create.transfer_manager;
  EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&retrieve)), "");
  Execution run = Execute(inc, {{retrieve.buffer_out}}, 1, {0});
  const Floats data = {1, 2, 3, 4};
  for (int half = 0; half < 2; ++half) {
    auto send = Make<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
    send.transfer_manager = create.transfer_manager;
    send.data = data.data() + 2 * half;
    send.offset = 8 * half;
    send.transfer_size = 8;
    send.is_last_transfer = half == 1;
    EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_TransferData(&send)), "");
    EXPECT_EQ(Finish(send.done_with_h2d_transfer), "");
  }
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  auto destroy = Make<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
  destroy.transfer_manager = create.transfer_manager;
  EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_Destroy(&destroy)), "");
  Destroy(run);
  DestroyBuffer(retrieve.buffer_out);
  DestroyLoaded(inc);
}
#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::accelerator
