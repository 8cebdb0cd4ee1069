// The transfer manager, through the call table.

#include <string>
#include <thread>
#include <vector>

#include "generated/defaults.h"
#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

#if PJRT_SCAFFOLD_HAS_PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using Floats = std::vector<float>;

// Two float arrays of four.
struct Manager {
  explicit Manager(const TestClient& client) {
    const int64_t dims[] = {4};
    PJRT_ShapeSpec specs[2] = {Make<PJRT_ShapeSpec>(), Make<PJRT_ShapeSpec>()};
    for (PJRT_ShapeSpec& spec : specs) {
      spec.dims = dims;
      spec.num_dims = 1;
      spec.element_type = PJRT_Buffer_Type_F32;
    }
    auto args = Make<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
    args.client = client.client;
    args.shape_specs = specs;
    args.num_shape_specs = 2;
    args.memory = client.memory(1, "device");
    error = Text(Api().PJRT_Client_CreateBuffersForAsyncHostToDevice(&args));
    manager = args.transfer_manager;
  }
  ~Manager() {
    auto args = Make<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
    args.transfer_manager = manager;
    (void)Api().PJRT_AsyncHostToDeviceTransferManager_Destroy(&args);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  std::string Send(int index, const Floats& data, int64_t first, bool is_last) {
    auto args = Make<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
    args.transfer_manager = manager;
    args.buffer_index = index;
    args.data = data.data();
    args.offset = first * 4;
    args.transfer_size = int64_t(data.size()) * 4;
    args.is_last_transfer = is_last;
    std::string text = Text(Api().PJRT_AsyncHostToDeviceTransferManager_TransferData(&args));
    if (text.empty()) DestroyEvent(args.done_with_h2d_transfer);
    return text;
  }
  PJRT_Buffer* Retrieve(int index) {
    auto args = Make<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
    args.transfer_manager = manager;
    args.buffer_index = index;
    error = Text(Api().PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&args));
    return args.buffer_out;
  }

  PJRT_AsyncHostToDeviceTransferManager* manager = nullptr;
  std::string error;
};

TEST(Transfer, InPieces) {
  Fake::Reset({.manual = true});
  TestClient client;
  Manager manager(client);
  PJRT_Buffer* buffer = manager.Retrieve(1);
  const Floats head = {1, 2, 3}, tail = {4};
  EXPECT_EQ(manager.Send(1, tail, 3, false), "");
  EXPECT_EQ(manager.Send(1, head, 0, true), "");
  EXPECT_EQ(Get<float>(buffer), (Floats{1, 2, 3, 4}));
  EXPECT_CONTAINS(manager.Send(1, head, 0, true), "already has its last piece");
  DestroyBuffer(buffer);
}

TEST(Transfer, RefusesWhatDoesNotFit) {
  Fake::Reset();
  TestClient client;
  Manager manager(client);
  EXPECT_CONTAINS(manager.Send(0, {1, 2}, 3, true), "reach outside");
  EXPECT_CONTAINS(manager.Send(2, {1}, 0, true), "has 2 buffers");
  auto set = Make<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>();
  set.transfer_manager = manager.manager;
  EXPECT_CONTAINS(Text(Api().PJRT_AsyncHostToDeviceTransferManager_SetBufferError(&set)),
                  "error_code is OK");
  auto send = Make<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
  send.transfer_manager = manager.manager;
  send.transfer_size = 4;
  EXPECT_CONTAINS(Text(Api().PJRT_AsyncHostToDeviceTransferManager_TransferData(&send)),
                  "data is null");
  DestroyBuffer(manager.Retrieve(0));
  manager.Retrieve(0);
  EXPECT_CONTAINS(manager.error, "retrieved before");
}

// Notes for people, whatever they look like: frameworks end the process when they are refused.
TEST(Transfer, TakesMetadata) {
  Fake::Reset();
  TestClient client;
  Manager manager(client);
  auto note = Make<PJRT_NamedValue>();
  note.name = "transfer";
  note.name_size = 8;
  note.type = PJRT_NamedValue_kString;
  note.string_value = "7 of 9";
  note.value_size = 6;
  auto add = Make<PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args>();
  add.transfer_manager = manager.manager;
  for (const size_t count : {0, 1}) {
    for (const PJRT_NamedValue* notes : {&note, static_cast<PJRT_NamedValue*>(nullptr)}) {
      add.transfer_metadata = notes;
      add.num_metadata = count;
      EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_AddMetadata(&add)), "");
    }
  }
  EXPECT_EQ(manager.Send(0, {1, 2, 3, 4}, 0, true), "");
  PJRT_Buffer* buffer = manager.Retrieve(0);
  EXPECT_EQ(Get<float>(buffer), (Floats{1, 2, 3, 4}));
  DestroyBuffer(buffer);
}

TEST(Transfer, FailuresReachTheBuffer) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* set = nullptr;
  PJRT_Buffer* dropped = nullptr;
  {
    Manager manager(client);
    set = manager.Retrieve(0);
    dropped = manager.Retrieve(1);
    auto args = Make<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>();
    args.transfer_manager = manager.manager;
    args.error_code = PJRT_Error_Code_ABORTED;
    args.error_message = "gone";
    args.error_message_size = 4;
    EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_SetBufferError(&args)), "");
  }
  std::string error;
  GetBytes(set, &error);
  EXPECT_EQ(error, "10: gone");
  GetBytes(dropped, &error);  // the manager went before the last piece came
  EXPECT_CONTAINS(error, "13: ");
  DestroyBuffer(set);
  DestroyBuffer(dropped);
}

// Pieces on any threads, while another sends the last one: a piece that was taken is part of the
// buffer, and one that came too late is refused before a byte of it is read.
TEST(Transfer, PiecesRaceWithTheLastOne) {
  for (bool host_accessible : {false, true}) {
    Fake::Reset({.host_accessible = host_accessible});
    TestClient client;
    for (int round = 0; round < 200; ++round) {
      Manager manager(client);
      PJRT_Buffer* buffer = manager.Retrieve(0);
      EXPECT_EQ(manager.Send(0, {0, 0, 0, 0}, 0, false), "");
      std::vector<std::string> outcomes(3);
      std::vector<std::thread> threads;
      for (int t = 0; t < 3; ++t) {
        threads.emplace_back(
            [&, t] { outcomes[t] = manager.Send(0, {float(t + 1)}, t, /*is_last=*/t == 2); });
      }
      const Floats seen = Get<float>(buffer);
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(outcomes[2], "");
      for (int t = 0; t < 3; ++t) EXPECT_EQ(seen[t], outcomes[t].empty() ? float(t + 1) : 0.0f);
      DestroyBuffer(buffer);
    }
  }
}

TEST(Transfer, AnErrorWaitsForThePiecesUnderWay) {
  Fake::Reset({.manual = true});
  TestClient client;
  Manager manager(client);
  PJRT_Buffer* buffer = manager.Retrieve(0);
  const Floats data = {1, 2, 3, 4};
  EXPECT_EQ(manager.Send(0, data, 0, false), "");
  auto set = Make<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>();
  set.transfer_manager = manager.manager;
  set.error_code = PJRT_Error_Code_ABORTED;
  EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_SetBufferError(&set)), "");
  EXPECT_CONTAINS(Text(Api().PJRT_AsyncHostToDeviceTransferManager_SetBufferError(&set)),
                  "already has its last piece, or an error");
  EXPECT_CONTAINS(manager.Send(0, data, 0, true), "already has its last piece, or an error");
  std::string error;
  GetBytes(buffer, &error);
  EXPECT_CONTAINS(error, "10: ");
  DestroyBuffer(buffer);
}

#if PJRT_SCAFFOLD_HAS_PJRT_AsyncHostToDeviceTransferManager_TransferLiteral
TEST(Transfer, Literal) {
  Fake::Reset();
  TestClient client;
  Manager manager(client);
  const Floats data = {4, 3, 2, 1};
  const int64_t dims[] = {4};
  auto args = Make<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>();
  args.transfer_manager = manager.manager;
  args.data = data.data();
  args.shape_dims = dims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(&args)), "");
  DestroyEvent(args.done_with_h2d_transfer);
  PJRT_Buffer* buffer = manager.Retrieve(0);
  EXPECT_EQ(Get<float>(buffer), data);
  DestroyBuffer(buffer);

  args.buffer_index = 1;
  PJRT_Buffer_MemoryLayout layout = {};  // names no dimension: as wrong as one too many
  args.shape_layout = &layout;
  EXPECT_CONTAINS(Text(Api().PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(&args)),
                  "minor_to_major is []");
  const int64_t backwards[] = {-4};
  layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  layout.strides.byte_strides = backwards;
  layout.strides.num_byte_strides = 1;
  args.data = data.data() + 3;
  EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(&args)), "");
  DestroyEvent(args.done_with_h2d_transfer);
  buffer = manager.Retrieve(1);
  EXPECT_EQ(Get<float>(buffer), (Floats{1, 2, 3, 4}));
  DestroyBuffer(buffer);
}
#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin

#else

TEST(Transfer, IsNotInThisApiVersion) {
  using PJRT_PLUGIN_NS::generated::IsFunction;
  EXPECT_FALSE(IsFunction("AsyncHostToDeviceTransferManager_RetrieveBuffer"));
}

#endif
