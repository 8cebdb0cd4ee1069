// A host without memory, at every allocation of the functions that copy from and to the caller's
// memory: the caller hears of it, and by then nothing uses its memory any more, nor what the
// function kept for the copy.

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/failing_new.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using Floats = std::vector<float>;
const Floats kData = {1, 2, 3, 4, 5, 6};
const int64_t kDims[] = {2, 3};
const int64_t kByColumns[] = {4, 8};  // strides

// Does queued work, though not at once.
class SlowWorker {
 public:
  ~SlowWorker() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_{[this] {
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      Fake::RunQueued();
    }
  }};
};

// `call`, with an allocation of it failing: the error's text.
template <typename Call>
std::string WithFailure(test::FailingNew* failing, bool* failed, Call call) {
  PJRT_Error* const error = call();
  *failed = failing->Stop();
  const std::string text = Text(error);
  if (!text.empty()) {
    EXPECT_TRUE(*failed);
    EXPECT_EQ(text.substr(0, 3), "8: ") << text;
    EXPECT_EQ(Fake::Queued(), size_t{0});
  }
  return text;
}

// Runs `one(failing, &failed)` with its first allocation failing, then its second, and so on until
// all of them succeed.
template <typename One>
void AtEveryAllocation(One one) {
  bool failed = true;
  int n = 0;
  for (; failed; ++n) {
    ASSERT_LT(n, 1000);
    one(n, &failed);
  }
  EXPECT_GT(n, 2);
}

PJRT_Buffer* PutMatrix(TestClient& client) {
  PJRT_Buffer* buffer = client.Put<float>(kData, {2, 3});
  EXPECT_EQ(Get<float>(buffer), kData);
  return buffer;
}

TEST(OutOfMemory, ArraysFromTheHost) {
  for (const bool staged : {false, true}) {
    Fake::Reset({.can_wrap = true, .manual = true});
    {
      TestClient client;
      SlowWorker worker;
      AtEveryAllocation([&](int n, bool* failed) {
        auto args = Make<PJRT_Client_BufferFromHostBuffer_Args>();
        args.client = client.client;
        args.data = kData.data();
        args.type = PJRT_Buffer_Type_F32;
        args.dims = kDims;
        args.num_dims = 2;
        args.byte_strides = staged ? kByColumns : nullptr;
        args.num_byte_strides = staged ? 2 : 0;
        args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes;
        args.device = client.device(0);
        test::FailingNew failing(n);
        if (!WithFailure(&failing, failed, [&] {
               return Api().PJRT_Client_BufferFromHostBuffer(&args);
             }).empty()) {
          return;
        }
        EXPECT_EQ(Finish(args.done_with_host_buffer), "");
        EXPECT_EQ(Get<float>(args.buffer), staged ? (Floats{1, 3, 5, 2, 4, 6}) : kData);
        DestroyBuffer(args.buffer);
      });
    }
    EXPECT_EQ(Fake::LiveBlocks(), 0);
    EXPECT_EQ(Fake::LiveDrivers(), 0);
  }
}

// Memory of the caller's that the array would use as its own.
TEST(OutOfMemory, ArraysThatShareTheHostsMemory) {
  Fake::Reset({.can_wrap = true});
  {
    TestClient client;
    const Floats large(1 << 14, 7.0f);
    const int64_t dims[] = {1 << 14};
    AtEveryAllocation([&](int n, bool* failed) {
      auto args = Make<PJRT_Client_BufferFromHostBuffer_Args>();
      args.client = client.client;
      args.data = large.data();
      args.type = PJRT_Buffer_Type_F32;
      args.dims = dims;
      args.num_dims = 1;
      args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
      args.device = client.device(0);
      test::FailingNew failing(n);
      if (!WithFailure(&failing, failed, [&] {
             return Api().PJRT_Client_BufferFromHostBuffer(&args);
           }).empty()) {
        return;
      }
      DestroyBuffer(args.buffer);
      EXPECT_EQ(Finish(args.done_with_host_buffer), "");
    });
  }
  EXPECT_EQ(Fake::LiveBlocks(), 0);
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}

TEST(OutOfMemory, ArraysToTheHost) {
  for (const bool staged : {false, true}) {
    Fake::Reset({.manual = true});
    {
      TestClient client;
      PJRT_Buffer* buffer = PutMatrix(client);
      SlowWorker worker;
      AtEveryAllocation([&](int n, bool* failed) {
        PJRT_Buffer_MemoryLayout layout = {};
        layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
        layout.strides.byte_strides = kByColumns;
        layout.strides.num_byte_strides = 2;
        Floats seen(kData.size());
        auto args = Make<PJRT_Buffer_ToHostBuffer_Args>();
        args.src = buffer;
        args.dst = seen.data();
        args.dst_size = seen.size() * sizeof(float);
        args.host_layout = staged ? &layout : nullptr;
        test::FailingNew failing(n);
        if (!WithFailure(&failing, failed, [&] {
               return Api().PJRT_Buffer_ToHostBuffer(&args);
             }).empty()) {
          return;
        }
        EXPECT_EQ(Finish(args.event), "");
        EXPECT_EQ(seen, staged ? (Floats{1, 4, 2, 5, 3, 6}) : kData);
      });
      DestroyBuffer(buffer);
    }
    EXPECT_EQ(Fake::LiveBlocks(), 0);
    EXPECT_EQ(Fake::LiveDrivers(), 0);
  }
}

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_CopyRawToHost
TEST(OutOfMemory, RawBytesToTheHost) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_Buffer* buffer = PutMatrix(client);
  SlowWorker worker;
  AtEveryAllocation([&](int n, bool* failed) {
    Floats seen(1);
    auto args = Make<PJRT_Buffer_CopyRawToHost_Args>();
    args.buffer = buffer;
    args.dst = seen.data();
    args.offset = 8;
    args.transfer_size = 4;
    test::FailingNew failing(n);
    if (!WithFailure(&failing, failed, [&] {
           return Api().PJRT_Buffer_CopyRawToHost(&args);
         }).empty()) {
      return;
    }
    EXPECT_EQ(Finish(args.event), "");
    EXPECT_EQ(seen, (Floats{3}));
  });
  DestroyBuffer(buffer);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_Extension
TEST(OutOfMemory, RawBuffers) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_Buffer* buffer = PutMatrix(client);
  const auto& extension = *FindExtension<PJRT_RawBuffer_Extension>(PJRT_Extension_Type_RawBuffer);
  auto alias = Make<PJRT_RawBuffer_CreateRawAliasOfBuffer_Args>();
  alias.buffer = buffer;
  EXPECT_EQ(Text(extension.PJRT_RawBuffer_CreateRawAliasOfBuffer(&alias)), "");
  SlowWorker worker;
  AtEveryAllocation([&](int n, bool* failed) {
    const Floats data = {9};
    auto args = Make<PJRT_RawBuffer_CopyRawHostToDevice_Args>();
    args.buffer = alias.raw_buffer;
    args.src = data.data();
    args.transfer_size = 4;
    test::FailingNew failing(n);
    if (WithFailure(&failing, failed, [&] {
          return extension.PJRT_RawBuffer_CopyRawHostToDevice(&args);
        }).empty()) {
      EXPECT_EQ(Finish(args.event), "");
    }
  });
  AtEveryAllocation([&](int n, bool* failed) {
    Floats seen(1);
    auto args = Make<PJRT_RawBuffer_CopyRawDeviceToHost_Args>();
    args.buffer = alias.raw_buffer;
    args.dst = seen.data();
    args.transfer_size = 4;
    test::FailingNew failing(n);
    if (!WithFailure(&failing, failed, [&] {
           return extension.PJRT_RawBuffer_CopyRawDeviceToHost(&args);
         }).empty()) {
      return;
    }
    EXPECT_EQ(Finish(args.event), "");
    EXPECT_EQ(seen, (Floats{9}));
  });
  auto destroy = Make<PJRT_RawBuffer_Destroy_Args>();
  destroy.buffer = alias.raw_buffer;
  EXPECT_EQ(Text(extension.PJRT_RawBuffer_Destroy(&destroy)), "");
  DestroyBuffer(buffer);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_AsyncHostToDeviceTransferManager_TransferLiteral
PJRT_AsyncHostToDeviceTransferManager* NewManager(const TestClient& client) {
  auto spec = Make<PJRT_ShapeSpec>();
  spec.dims = kDims;
  spec.num_dims = 2;
  spec.element_type = PJRT_Buffer_Type_F32;
  auto args = Make<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
  args.client = client.client;
  args.shape_specs = &spec;
  args.num_shape_specs = 1;
  args.memory = client.memory(0, "device");
  EXPECT_EQ(Text(Api().PJRT_Client_CreateBuffersForAsyncHostToDevice(&args)), "");
  return args.transfer_manager;
}

void DestroyManager(PJRT_AsyncHostToDeviceTransferManager* manager) {
  auto args = Make<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
  args.transfer_manager = manager;
  EXPECT_EQ(Text(Api().PJRT_AsyncHostToDeviceTransferManager_Destroy(&args)), "");
}

TEST(OutOfMemory, PiecesAndLiterals) {
  for (const bool literal : {false, true}) {
    Fake::Reset({.manual = true});
    {
      TestClient client;
      SlowWorker worker;
      AtEveryAllocation([&](int n, bool* failed) {
        PJRT_AsyncHostToDeviceTransferManager* manager = NewManager(client);
        PJRT_Buffer_MemoryLayout layout = {};
        layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
        layout.strides.byte_strides = kByColumns;
        layout.strides.num_byte_strides = 2;
        auto whole = Make<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>();
        whole.transfer_manager = manager;
        whole.data = kData.data();
        whole.shape_dims = kDims;
        whole.shape_num_dims = 2;
        whole.shape_element_type = PJRT_Buffer_Type_F32;
        whole.shape_layout = &layout;
        auto piece = Make<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
        piece.transfer_manager = manager;
        piece.data = kData.data();
        piece.transfer_size = 24;
        piece.is_last_transfer = true;
        test::FailingNew failing(n);
        if (WithFailure(&failing, failed, [&] {
              return literal ? Api().PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(&whole)
                             : Api().PJRT_AsyncHostToDeviceTransferManager_TransferData(&piece);
            }).empty()) {
          EXPECT_EQ(Finish(literal ? whole.done_with_h2d_transfer : piece.done_with_h2d_transfer),
                    "");
        }
        DestroyManager(manager);
      });
    }
    EXPECT_EQ(Fake::LiveBlocks(), 0);
    EXPECT_EQ(Fake::LiveDrivers(), 0);
  }
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_FunctionTable_schedule_copy_to
PJRT_RawBuffer* AliasOf(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_RawBuffer_CreateRawAliasOfBuffer_Args>();
  args.buffer = buffer;
  const auto* raw = FindExtension<PJRT_RawBuffer_Extension>(PJRT_Extension_Type_RawBuffer);
  EXPECT_EQ(Text(raw->PJRT_RawBuffer_CreateRawAliasOfBuffer(&args)), "");
  return args.raw_buffer;
}

// An event of the framework's, with a message that takes memory to keep.
struct FrameworkEvent {
  static constexpr char kFailure[] = "a message that does not fit into the text object itself";
  const PJRT_DeviceEvent_FunctionTable table = [] {
    PJRT_DeviceEvent_FunctionTable table = {};
    table.struct_size = sizeof(table);
    table.inc_ref = [](void*) {};
    table.dec_ref = [](void*) {};
    table.and_then = [](void* self, PJRT_DeviceEvent_AndThen callback, void* user_arg) {
      static_cast<FrameworkEvent*>(self)->callback = callback;
      static_cast<FrameworkEvent*>(self)->user_arg = user_arg;
    };
    table.get_error_if_present = [](void*, PJRT_Error_Code* code, const char** message,
                                    size_t* size) {
      *code = PJRT_Error_Code_ABORTED;
      *message = kFailure;
      *size = sizeof(kFailure) - 1;
      return 1;
    };
    return table;
  }();
  PJRT_DeviceEvent_AndThen callback = nullptr;
  void* user_arg = nullptr;
};

// The functions of device events return no error: what they are asked for is done all the same.
TEST(OutOfMemory, EventsOfRawBuffers) {
  Fake::Reset();
  {
    TestClient client;
    PJRT_Buffer* buffer = client.Put<float>(kData, {2, 3});
    PJRT_RawBuffer* raw = AliasOf(buffer);
    AtEveryAllocation([&](int n, bool* failed) {
      FrameworkEvent before;
      PJRT_DeviceEvent list[] = {{&before.table, &before}};
      PJRT_DeviceEventVector dependencies = {list, 1, 1, nullptr};
      PJRT_DeviceEvent done = {};
      const float write = 7;
      EXPECT_EQ(Text(raw->vtable->copy_raw_host_to_device_and_return_event(raw, &write, 0, 4,
                                                                           &dependencies, &done)),
                "");
      std::atomic<bool> called{false};
      bool failed_there = false;
      // Who asks may have to wait, so another thread makes the event ready.
      std::thread framework([&before, &failed_there, n] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        test::FailingNew failing(n);
        before.callback(before.user_arg);
        failed_there = failing.Stop();
      });
      test::FailingNew failing(n);
      done.vtable->and_then(
          done.device_event, [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); },
          &called);
      *failed = failing.Stop();
      framework.join();
      *failed = *failed || failed_there;
      EXPECT_TRUE(called.load());
      PJRT_Error_Code code = {};
      const char* message = nullptr;
      size_t size = 0;
      EXPECT_EQ(done.vtable->get_error_if_present(done.device_event, &code, &message, &size), 1);
      done.vtable->dec_ref(done.device_event);
    });
    raw->vtable->dec_ref(raw);
    DestroyBuffer(buffer);
  }
}
#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
