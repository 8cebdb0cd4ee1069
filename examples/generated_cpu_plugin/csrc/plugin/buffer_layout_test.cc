// Arrays of other layouts than row-major, through all functions that make, read and run them.

#include <string>
#include <vector>

#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "plugin/layout.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using Values = std::vector<float>;
using Order = std::vector<int64_t>;

const Values kRows = {1, 2, 3, 4, 5, 6};     // of a 2x3 matrix
const Values kColumns = {1, 4, 2, 5, 3, 6};  // the same one by columns
const Order kDims = {2, 3};
const Order kByColumns = {0, 1};

struct Tiled : PJRT_Buffer_MemoryLayout {
  explicit Tiled(const Order& minor_to_major) : PJRT_Buffer_MemoryLayout() {
    type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    tiled.minor_to_major = minor_to_major.data();
    tiled.minor_to_major_size = minor_to_major.size();
  }
};

std::string Create(TestClient& client, const Values& values, PJRT_Buffer_MemoryLayout* layout,
                   PJRT_Buffer** buffer, const Order& byte_strides = {}) {
  auto args = Make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client.client;
  args.data = values.data();
  args.type = PJRT_Buffer_Type_F32;
  args.dims = kDims.data();
  args.num_dims = kDims.size();
  args.byte_strides = byte_strides.data();
  args.num_byte_strides = byte_strides.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = client.device(0);
  args.device_layout = layout;
  const std::string error = Text(Api().PJRT_Client_BufferFromHostBuffer(&args));
  if (!error.empty()) return error;
  *buffer = args.buffer;
  return Finish(args.done_with_host_buffer);
}

PJRT_Buffer* ByColumns(TestClient& client) {
  Tiled layout(kByColumns);
  PJRT_Buffer* buffer = nullptr;
  EXPECT_EQ(Create(client, kRows, &layout, &buffer), "");
  return buffer;
}

// The array with its elements in this order on the host.
Values Read(PJRT_Buffer* buffer, const Order& minor_to_major) {
  Tiled layout(minor_to_major);
  Values values(kRows.size());
  auto args = Make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  args.host_layout = &layout;
  args.dst = values.data();
  args.dst_size = values.size() * sizeof(float);
  EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&args)), "");
  EXPECT_EQ(Finish(args.event), "");
  return values;
}

Order LayoutOfBuffer(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_GetMemoryLayout_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_GetMemoryLayout(&args)), "");
  const int64_t* order = args.layout.tiled.minor_to_major;
  return Order(order, order + args.layout.tiled.minor_to_major_size);
}

TEST(MemoryLayout, IsRowMajorAtEveryRank) {
  Fake::Reset();
  TestClient client;
  for (size_t rank : {size_t{0}, size_t{1}, size_t{3}, kMaxRank}) {
    PJRT_Buffer* x = client.Put<float>({1}, std::vector<int64_t>(rank, 1));
    auto args = Make<PJRT_Buffer_GetMemoryLayout_Args>();
    args.buffer = x;
    EXPECT_EQ(Text(Api().PJRT_Buffer_GetMemoryLayout(&args)), "");
    EXPECT_EQ(int(args.layout.type), int(PJRT_Buffer_MemoryLayout_Type_Tiled));
    EXPECT_EQ(args.layout.tiled.num_tiles, size_t{0});
    EXPECT_EQ(args.layout.tiled.minor_to_major_size, rank);
    for (size_t i = 0; i < rank; ++i) {
      EXPECT_EQ(args.layout.tiled.minor_to_major[i], int64_t(rank - 1 - i));
    }
    DestroyBuffer(x);
  }
}

TEST(MemoryLayout, SaysWhichRankIsTooHigh) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* x = client.Put<float>({1}, std::vector<int64_t>(kMaxRank + 1, 1));
  auto args = Make<PJRT_Buffer_GetMemoryLayout_Args>();
  args.buffer = x;
  EXPECT_CONTAINS(Text(Api().PJRT_Buffer_GetMemoryLayout(&args)), "rank 65");
  DestroyBuffer(x);
}

// Whatever the memory, the host sees the values it put, and without a layout the device's order.
TEST(OtherLayouts, GoToTheDeviceAndBack) {
  for (bool host_accessible : {false, true}) {
    Fake::Reset({.host_accessible = host_accessible});
    TestClient client;
    PJRT_Buffer* x = ByColumns(client);
    EXPECT_EQ(LayoutOfBuffer(x), kByColumns);
    EXPECT_EQ(Get<float>(x), kColumns);
    EXPECT_EQ(Read(x, {1, 0}), kRows);
    EXPECT_EQ(Read(x, {0, 1}), kColumns);
    DestroyBuffer(x);
    // From an array that lies by columns on the host too.
    Tiled layout(kByColumns);
    EXPECT_EQ(Create(client, kColumns, &layout, &x, {4, 8}), "");
    EXPECT_EQ(Read(x, {1, 0}), kRows);
    DestroyBuffer(x);
    PJRT_Buffer* row_major = client.Put<float>(kRows, kDims);
    EXPECT_EQ(Read(row_major, {0, 1}), kColumns);
    DestroyBuffer(row_major);
  }
}

TEST(OtherLayouts, GoAlongToOtherDevices) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* x = ByColumns(client);
  auto copy = Make<PJRT_Buffer_CopyToDevice_Args>();
  copy.buffer = x;
  copy.dst_device = client.device(1);
  EXPECT_EQ(Text(Api().PJRT_Buffer_CopyToDevice(&copy)), "");
  EXPECT_EQ(LayoutOfBuffer(copy.dst_buffer), kByColumns);
  EXPECT_EQ(Read(copy.dst_buffer, {1, 0}), kRows);
  DestroyBuffer(copy.dst_buffer);
  DestroyBuffer(x);
}

TEST(OtherLayouts, OfTilesAndGapsAreRefused) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* x = nullptr;
  Tiled tiles(kByColumns);
  tiles.tiled.num_tiles = 1;
  EXPECT_CONTAINS(Create(client, kRows, &tiles, &x), "12: PJRT_Client_BufferFromHostBuffer");
  PJRT_Buffer_MemoryLayout gaps = {};
  const Order strides = {4, 16};
  gaps.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  gaps.strides.byte_strides = strides.data();
  gaps.strides.num_byte_strides = 2;
  EXPECT_CONTAINS(Create(client, kRows, &gaps, &x), "keeps arrays dense");
}

TEST(OtherLayouts, AreThoseOfTheProgramOrRefused) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* columns = client.Compile("columns");
  PJRT_Buffer* x = ByColumns(client);
  const auto run = Execute(columns, {{x}}, 1, {0});
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(LayoutOfBuffer(run.outputs[0][0]), kByColumns);
  EXPECT_EQ(Read(run.outputs[0][0], {1, 0}), kRows);
  Destroy(run);
  PJRT_Buffer* row_major = client.Put<float>(kRows, kDims);
  const auto refused = Execute(columns, {{row_major}});
  EXPECT_CONTAINS(refused.error,
                  "3: PJRT_LoadedExecutable_Execute: argument 0 of columns has the layout of "
                  "f32[2,3]{1,0}, but the program takes f32[2,3]{0,1}");
  EXPECT_FALSE(IsDeleted(row_major));
  DestroyBuffer(row_major);
  DestroyBuffer(x);
  DestroyLoaded(columns);
}

#if PJRT_SCAFFOLD_HAS_PJRT_AsyncHostToDeviceTransferManager_TransferLiteral
TEST(OtherLayouts, OfLiteralsAndOfTheBuffersTheyFill) {
  Fake::Reset();
  TestClient client;
  PJRT_ShapeSpec spec = Make<PJRT_ShapeSpec>();
  spec.dims = kDims.data();
  spec.num_dims = kDims.size();
  spec.element_type = PJRT_Buffer_Type_F32;
  for (const Order& device_order : {Order{0, 1}, Order{1, 0}}) {
    Tiled device_layout(device_order);
    PJRT_Buffer_MemoryLayout* device_layouts[] = {&device_layout};
    auto create = Make<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
    create.client = client.client;
    create.shape_specs = &spec;
    create.num_shape_specs = 1;
    create.device_layouts = device_layouts;
    create.num_device_layouts = 1;
    create.memory = client.memory(0, "device");
    EXPECT_EQ(Text(Api().PJRT_Client_CreateBuffersForAsyncHostToDevice(&create)), "");
    auto retrieve = Make<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
    retrieve.transfer_manager = create.transfer_manager;
    EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&retrieve)), "");
    Tiled host_layout(kByColumns);
    auto send = Make<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>();
    send.transfer_manager = create.transfer_manager;
    send.data = kColumns.data();
    send.shape_dims = kDims.data();
    send.shape_num_dims = kDims.size();
    send.shape_element_type = PJRT_Buffer_Type_F32;
    send.shape_layout = &host_layout;
    EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(&send)), "");
    EXPECT_EQ(Finish(send.done_with_h2d_transfer), "");
    EXPECT_EQ(LayoutOfBuffer(retrieve.buffer_out), device_order);
    EXPECT_EQ(Read(retrieve.buffer_out, {1, 0}), kRows);
    DestroyBuffer(retrieve.buffer_out);
    auto destroy = Make<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
    destroy.transfer_manager = create.transfer_manager;
    EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_Destroy(&destroy)), "");
  }
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_Bitcast
TEST(OtherLayouts, OfABitcastAreAnotherViewOfTheBytes) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* x = client.Put<float>(kColumns, {6});
  Tiled layout(kByColumns);
  auto args = Make<PJRT_Buffer_Bitcast_Args>();
  args.buffer = x;
  args.element_type = PJRT_Buffer_Type_F32;
  args.dims = kDims.data();
  args.num_dims = kDims.size();
  args.device_layout = &layout;
  EXPECT_EQ(Text(Api().PJRT_Buffer_Bitcast(&args)), "");
  EXPECT_EQ(Read(args.out_buffer, {1, 0}), kRows);
  DestroyBuffer(args.out_buffer);
  DestroyBuffer(x);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Layouts_Extension
TEST(OtherLayouts, AreToldByTheExtension) {
  Fake::Reset();
  TestClient client;
  const PJRT_Layouts_Extension* layouts = nullptr;
  for (auto* node = Api().extension_start; node != nullptr; node = node->next) {
    if (node->type == PJRT_Extension_Type_Layouts) {
      layouts = reinterpret_cast<const PJRT_Layouts_Extension*>(node);
    }
  }
  ASSERT_TRUE(layouts != nullptr);
  auto text = [&](PJRT_Layouts_MemoryLayout* layout) {
    auto args = Make<PJRT_Layouts_MemoryLayout_Serialize_Args>();
    args.layout = layout;
    EXPECT_EQ(Text(layouts->PJRT_Layouts_MemoryLayout_Serialize(&args)), "");
    std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
    args.serialized_layout_deleter(args.serialized_layout);
    return bytes;
  };
  PJRT_Buffer* x = ByColumns(client);
  auto of = Make<PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args>();
  of.buffer = x;
  EXPECT_EQ(Text(layouts->PJRT_Layouts_PJRT_Buffer_MemoryLayout(&of)), "");
  DestroyBuffer(x);
  EXPECT_EQ(text(of.layout), "{0,1}");  // it outlives the buffer
  auto destroy = Make<PJRT_Layouts_MemoryLayout_Destroy_Args>();
  destroy.layout = of.layout;
  EXPECT_EQ(Text(layouts->PJRT_Layouts_MemoryLayout_Destroy(&destroy)), "");
#if PJRT_SCAFFOLD_HAS_PJRT_Layouts_Extension_PJRT_Layouts_PJRT_Executable_GetParameterLayouts
  PJRT_LoadedExecutable* loaded = client.Compile("columns");
  auto get = Make<PJRT_LoadedExecutable_GetExecutable_Args>();
  get.loaded_executable = loaded;
  EXPECT_EQ(Text(Api().PJRT_LoadedExecutable_GetExecutable(&get)), "");
  auto in = Make<PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args>();
  in.executable = get.executable;
  EXPECT_EQ(Text(layouts->PJRT_Layouts_PJRT_Executable_GetParameterLayouts(&in)), "");
  EXPECT_EQ(in.num_parameters, size_t{1});
  EXPECT_EQ(text(in.layouts[0]), "{0,1}");
  auto end = Make<PJRT_Executable_Destroy_Args>();
  end.executable = get.executable;
  EXPECT_EQ(Text(Api().PJRT_Executable_Destroy(&end)), "");
  DestroyLoaded(loaded);
#endif
}
#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
