// Arrays without elements through every function that takes or gives an array: they are arrays like
// any other, though there is no byte to move, and a null pointer is good enough for them.

#include <string>
#include <vector>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using Dims = std::vector<int64_t>;

const std::vector<Dims> kEmptyShapes = {{0}, {3, 0, 2}, {0, 0}};

Dims DimsOf(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_Dimensions_Args>();
  args.buffer = buffer;
  (void)Api().PJRT_Buffer_Dimensions(&args);
  return Dims(args.dims, args.dims + args.num_dims);
}

// Checks all that can be asked of an array without elements, and destroys it.
void Check(PJRT_Buffer* buffer, const Dims& dims) {
  EXPECT_EQ(DimsOf(buffer), dims);
  auto size = Make<PJRT_Buffer_OnDeviceSizeInBytes_Args>();
  size.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_OnDeviceSizeInBytes(&size)), "");
  EXPECT_EQ(size.on_device_size_in_bytes, size_t{0});
  auto ready = Make<PJRT_Buffer_ReadyEvent_Args>();
  ready.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ReadyEvent(&ready)), "");
  Fake::RunQueued();
  EXPECT_EQ(Finish(ready.event), "");
  // Frameworks read a null address as failure.
  auto pointer = Make<PJRT_Buffer_UnsafePointer_Args>();
  pointer.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_UnsafePointer(&pointer)), "");
  EXPECT_TRUE(pointer.buffer_pointer != 0);
  auto question = Make<PJRT_Buffer_ToHostBuffer_Args>();
  question.src = buffer;
  question.dst_size = 99;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&question)), "");
  EXPECT_EQ(question.dst_size, size_t{0});
  std::string error;
  EXPECT_TRUE(GetBytes(buffer, &error).empty());
  EXPECT_EQ(error, "");
  DestroyBuffer(buffer);
}

struct Case {
  FakeConfig config;
  Dims dims;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Dims& dims : kEmptyShapes) {
    for (bool host_accessible : {false, true}) {
      cases.push_back(
          {{.host_accessible = host_accessible, .can_wrap = true, .manual = true}, dims});
    }
  }
  return cases;
}

// pitfall 58: arrays without elements are refused, or have a null address
TEST(ZeroSize, FromAndToTheHost) {
  for (const auto& [config, dims] : Cases()) {
    Fake::Reset(config);
    TestClient client;
    for (auto semantics :
         {PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
          PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
          PJRT_HostBufferSemantics_kImmutableZeroCopy, PJRT_HostBufferSemantics_kMutableZeroCopy}) {
      auto args = Make<PJRT_Client_BufferFromHostBuffer_Args>();
      args.client = client.client;
      args.type = PJRT_Buffer_Type_F32;
      args.dims = dims.data();
      args.num_dims = dims.size();
      const Dims strides(dims.size(), -4);  // numpy gives arrays without elements any strides
      args.byte_strides = strides.data();
      args.num_byte_strides = strides.size();
      args.host_buffer_semantics = semantics;
      args.device = client.device(0);
      EXPECT_EQ(Text(Api().PJRT_Client_BufferFromHostBuffer(&args)), "");
      EXPECT_EQ(Finish(args.done_with_host_buffer), "");
      Check(args.buffer, dims);
    }
    client.Destroy();
    EXPECT_EQ(Fake::LiveBlocks(), 0);
  }
}

TEST(ZeroSize, Copies) {
  for (const auto& [config, dims] : Cases()) {
    Fake::Reset(config);
    TestClient client;
    PJRT_Buffer* buffer = client.PutData(nullptr, PJRT_Buffer_Type_F32, dims);
    auto to_device = Make<PJRT_Buffer_CopyToDevice_Args>();
    to_device.buffer = buffer;
    to_device.dst_device = client.device(1);
    EXPECT_EQ(Text(Api().PJRT_Buffer_CopyToDevice(&to_device)), "");
    Check(to_device.dst_buffer, dims);
    auto to_memory = Make<PJRT_Buffer_CopyToMemory_Args>();
    to_memory.buffer = buffer;
    to_memory.dst_memory = client.memory(0, "pinned_host");
    EXPECT_EQ(Text(Api().PJRT_Buffer_CopyToMemory(&to_memory)), "");
    Check(to_memory.dst_buffer, dims);
#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_CopyRawToHost
    auto raw = Make<PJRT_Buffer_CopyRawToHost_Args>();
    raw.buffer = buffer;
    EXPECT_EQ(Text(Api().PJRT_Buffer_CopyRawToHost(&raw)), "");
    EXPECT_EQ(Finish(raw.event), "");
    raw.transfer_size = 1;
    EXPECT_CONTAINS(Text(Api().PJRT_Buffer_CopyRawToHost(&raw)), "reach outside");
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_CopyRawToHostFuture
    auto late = Make<PJRT_Buffer_CopyRawToHostFuture_Args>();
    late.buffer = buffer;
    EXPECT_EQ(Text(Api().PJRT_Buffer_CopyRawToHostFuture(&late)), "");
    auto now = Make<PJRT_Buffer_CopyRawToHostFuture_Callback_Args>();
    now.callback_data = late.callback_data;
    late.future_ready_callback(&now);
    EXPECT_EQ(Finish(late.event), "");
#endif
    Check(buffer, dims);
  }
}

// pitfall 12: the entry for uninitialised buffers is null, and clients in C crash
TEST(ZeroSize, OtherWaysToMakeOne) {
  for (const auto& [config, dims] : Cases()) {
    Fake::Reset(config);
    TestClient client;
    float nothing;
    auto view = Make<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
    view.client = client.client;
    view.device_buffer_ptr = &nothing;
    view.dims = dims.data();
    view.num_dims = dims.size();
    view.element_type = PJRT_Buffer_Type_F32;
    view.device = client.device(0);
    EXPECT_EQ(Text(Api().PJRT_Client_CreateViewOfDeviceBuffer(&view)), "");
    Check(view.buffer, dims);
#if PJRT_SCAFFOLD_HAS_PJRT_Client_CreateUninitializedBuffer
    auto make = Make<PJRT_Client_CreateUninitializedBuffer_Args>();
    make.client = client.client;
    make.shape_dims = dims.data();
    make.shape_num_dims = dims.size();
    make.shape_element_type = PJRT_Buffer_Type_F32;
    make.device = client.device(0);
    EXPECT_EQ(Text(Api().PJRT_Client_CreateUninitializedBuffer(&make)), "");
    Check(make.buffer, dims);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer
    auto spec = Make<PJRT_ShapeSpec>();
    spec.dims = dims.data();
    spec.num_dims = dims.size();
    spec.element_type = PJRT_Buffer_Type_F32;
    auto create = Make<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
    create.client = client.client;
    create.shape_specs = &spec;
    create.num_shape_specs = 1;
    create.memory = client.memory(0, "device");
    EXPECT_EQ(Text(Api().PJRT_Client_CreateBuffersForAsyncHostToDevice(&create)), "");
    auto send = Make<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
    send.transfer_manager = create.transfer_manager;
    send.is_last_transfer = true;
    EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_TransferData(&send)), "");
    EXPECT_EQ(Finish(send.done_with_h2d_transfer), "");
    auto retrieve = Make<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
    retrieve.transfer_manager = create.transfer_manager;
    EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&retrieve)), "");
    auto destroy = Make<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
    destroy.transfer_manager = create.transfer_manager;
    (void)Api().PJRT_AsyncHostToDeviceTransferManager_Destroy(&destroy);
    Check(retrieve.buffer_out, dims);
#endif
  }
}

TEST(ZeroSize, ThroughAProgram) {
  for (bool manual : {false, true}) {
    Fake::Reset({.manual = manual});
    TestClient client;
    PJRT_LoadedExecutable* empty = client.Compile("empty");
    PJRT_Buffer* buffer = client.PutData(nullptr, PJRT_Buffer_Type_F32, {0});
    Execution kept = Execute(empty, {{buffer}}, 1, {0});
    Execution donated = Execute(empty, {{buffer}});
    EXPECT_EQ(kept.error + donated.error, "");
    EXPECT_TRUE(IsDeleted(buffer));
    for (Execution* run : {&kept, &donated}) {
      Check(run->outputs[0][0], {0});
      EXPECT_EQ(Finish(run->done[0]), "");
    }
    DestroyBuffer(buffer);
    DestroyLoaded(empty);
    EXPECT_EQ(Fake::LiveBlocks(), 0);
  }
}

TEST(ZeroSize, ProgramWithoutArguments) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* ones = client.Compile("ones");
  PJRT_Buffer* output = nullptr;
  PJRT_Buffer** outputs[] = {&output};
  auto options = Make<PJRT_ExecuteOptions>();
  auto args = Make<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = ones;
  args.options = &options;
  args.num_devices = 1;
  args.output_lists = outputs;
  EXPECT_EQ(Text(Api().PJRT_LoadedExecutable_Execute(&args)), "");
  EXPECT_EQ(Get<float>(output), (std::vector<float>{1, 1, 1, 1}));
  DestroyBuffer(output);
  DestroyLoaded(ones);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
