// Host sends and receives of a program that runs: the callbacks of an execution, and the streams by
// which arrays come back.

#include "plugin/host_callbacks.h"

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using Floats = std::vector<float>;

std::string ReadyText(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ReadyEvent(&args)), "");
  return Finish(args.event);
}

// What the framework does in its callbacks.
struct Host {
  std::vector<Floats> sent;
  std::string send_error;       // to answer a send with
  bool throws = false;          // when it is sent something
  bool receive_throws = false;  // when it is asked for something, but the stream is kept
  PJRT_CopyToDeviceStream* stream = nullptr;  // of the last receive
  int chunks_freed = 0;

  static PJRT_Error* OnSend(PJRT_Chunk* chunk, PJRT_CallbackError* callback_error, size_t total,
                            bool done, void* user_arg) {
    Host& host = *static_cast<Host*>(user_arg);
    Floats data(chunk->size / sizeof(float));
    std::memcpy(data.data(), chunk->data, chunk->size);
    chunk->deleter(chunk->data, chunk->deleter_arg);
    EXPECT_EQ(total, chunk->size);
    EXPECT_TRUE(done);
    host.sent.push_back(std::move(data));
    if (host.throws) throw std::runtime_error("a callback threw");
    if (host.send_error.empty()) return nullptr;
    return (*callback_error)(PJRT_Error_Code_ABORTED, host.send_error.data(),
                             host.send_error.size());
  }
  static void OnReceive(PJRT_CopyToDeviceStream* stream, void* user_arg) {
    Host& host = *static_cast<Host*>(user_arg);
    host.stream = stream;
    if (host.receive_throws) throw std::runtime_error("a callback threw");
  }

  // The event of the piece.
  PJRT_Event* Add(const Floats& piece) {
    auto* data = new Floats(piece);
    PJRT_Chunk chunk = {};
    chunk.data = data->data();
    chunk.size = data->size() * sizeof(float);
    chunk.deleter = [](void* piece, void* arg) {
      auto* const held = static_cast<std::pair<Host*, Floats*>*>(arg);
      EXPECT_TRUE(piece == held->second->data());
      ++held->first->chunks_freed;
      delete held->second;
      delete held;
    };
    chunk.deleter_arg = new std::pair<Host*, Floats*>(this, data);
    auto args = Make<PJRT_CopyToDeviceStream_AddChunk_Args>();
    args.stream = stream;
    args.chunk = &chunk;
    EXPECT_EQ(Text(Api().PJRT_CopyToDeviceStream_AddChunk(&args)), "");
    return args.transfer_complete;
  }
  void DestroyStream() {
    auto args = Make<PJRT_CopyToDeviceStream_Destroy_Args>();
    args.stream = std::exchange(stream, nullptr);
    EXPECT_EQ(Text(Api().PJRT_CopyToDeviceStream_Destroy(&args)), "");
  }
  int64_t CurrentBytes() const {
    auto args = Make<PJRT_CopyToDeviceStream_CurrentBytes_Args>();
    args.stream = stream;
    EXPECT_EQ(Text(Api().PJRT_CopyToDeviceStream_CurrentBytes(&args)), "");
    return args.current_bytes;
  }
};

// "echo" sends its argument on channel 1 and gives what comes on channel 2.
struct Fixture {
  explicit Fixture(std::vector<std::pair<int64_t, int64_t>> channels = {{1, 2}}) {
    Fake::Reset();
    echo = client.Compile("echo");
    x = client.Put<float>({1, 2, 3, 4}, {4});
    for (const auto& [send, receive] : channels) {
      sends.push_back({send, &host, Host::OnSend});
      receives.push_back({receive, &host, Host::OnReceive});
    }
  }
  ~Fixture() {
    if (!error_expected) Destroy(run);
    DestroyBuffer(x);
    DestroyLoaded(echo);
  }
  void Start() {
    PJRT_SendCallbackInfo* send_list = sends.data();
    PJRT_RecvCallbackInfo* receive_list = receives.data();
    auto options = Make<PJRT_ExecuteOptions>();
    options.launch_id = 7;
    options.send_callbacks = &send_list;
    options.num_send_ops = sends.size();
    options.recv_callbacks = &receive_list;
    options.num_recv_ops = receives.size();
    run = Execute(echo, {{x}}, 1, {}, nullptr, options);
    EXPECT_EQ(run.error, "");
  }

  TestClient client;
  PJRT_LoadedExecutable* echo = nullptr;
  PJRT_Buffer* x = nullptr;
  Host host;
  std::vector<PJRT_SendCallbackInfo> sends;
  std::vector<PJRT_RecvCallbackInfo> receives;
  Execution run;
  bool error_expected = false;
};

TEST(HostCallbacks, ArraysGoOutAndComeBackInPieces) {
  Fixture f({{8, 9}, {1, 2}});
  f.Start();
  ASSERT_TRUE(f.host.sent.size() == 1);
  EXPECT_EQ(f.host.sent[0], (Floats{1, 2, 3, 4}));
  ASSERT_TRUE(f.host.stream != nullptr);
  EXPECT_FALSE(IsReady(f.run.done[0]));
  auto total = Make<PJRT_CopyToDeviceStream_TotalBytes_Args>();
  total.stream = f.host.stream;
  EXPECT_EQ(Text(Api().PJRT_CopyToDeviceStream_TotalBytes(&total)), "");
  EXPECT_EQ(total.total_bytes, int64_t{16});
  auto granule = Make<PJRT_CopyToDeviceStream_GranuleSize_Args>();
  granule.stream = f.host.stream;
  EXPECT_EQ(Text(Api().PJRT_CopyToDeviceStream_GranuleSize(&granule)), "");
  EXPECT_EQ(granule.granule_size_in_bytes, int64_t{1});
  EXPECT_EQ(f.host.CurrentBytes(), int64_t{0});
  EXPECT_EQ(Finish(f.host.Add({10, 20, 30})), "");
  EXPECT_EQ(f.host.CurrentBytes(), int64_t{12});
  EXPECT_FALSE(IsReady(f.run.done[0]));
  EXPECT_EQ(Finish(f.host.Add({40})), "");
  EXPECT_EQ(f.host.chunks_freed, 2);
  EXPECT_EQ(Get<float>(f.run.outputs[0][0]), (Floats{10, 20, 30, 40}));
  EXPECT_CONTAINS(Finish(f.host.Add({50})), "9: PJRT_CopyToDeviceStream_AddChunk: all 16 bytes");
  EXPECT_EQ(f.host.chunks_freed, 3);
  f.host.DestroyStream();
}

TEST(HostCallbacks, PiecesThatAreTooLargeAreRefused) {
  Fixture f;
  f.Start();
  EXPECT_CONTAINS(Finish(f.host.Add({1, 2, 3, 4, 5})), "20 bytes, but only 16 of 16 are left");
  EXPECT_EQ(f.host.chunks_freed, 1);
  EXPECT_EQ(Finish(f.host.Add({4, 3, 2, 1})), "");  // the stream is as good as before
  f.host.DestroyStream();
  EXPECT_EQ(Get<float>(f.run.outputs[0][0]), (Floats{4, 3, 2, 1}));
}

// The memory of a piece stays until it is on the device, whatever becomes of the stream.
TEST(HostCallbacks, PiecesAreFreedWhenTheyAreWritten) {
  Fixture f;
  f.Start();
  Fake::Reset({.manual = true});
  PJRT_Event* written = f.host.Add({4, 3, 2, 1});
  f.host.DestroyStream();
  EXPECT_FALSE(IsReady(written));
  EXPECT_EQ(f.host.chunks_freed, 0);
  EXPECT_FALSE(IsReady(f.run.done[0]));
  Fake::RunQueued();
  EXPECT_EQ(Finish(written), "");
  EXPECT_EQ(f.host.chunks_freed, 1);
  EXPECT_EQ(Get<float>(f.run.outputs[0][0]), (Floats{4, 3, 2, 1}));
}

// Not even when the framework keeps the stream: blocks may not outlive their client.
TEST(HostCallbacks, StreamsThatAreOverHoldNoMemory) {
  Fixture f;
  f.Start();
  EXPECT_EQ(Finish(f.host.Add({4, 3, 2, 1})), "");
  Destroy(std::exchange(f.run, {}));
  EXPECT_EQ(Fake::LiveBlocks(), 0);
  EXPECT_CONTAINS(Finish(f.host.Add({5})), "all 16 bytes are sent");
  f.host.DestroyStream();
}

TEST(HostCallbacks, GivingUpFailsTheProgram) {
  Fixture f;
  f.Start();
  EXPECT_EQ(Finish(f.host.Add({1})), "");
  f.host.DestroyStream();
  EXPECT_CONTAINS(ReadyText(f.run.outputs[0][0]), "1: the framework sent 4 of the 16 bytes");
}

TEST(HostCallbacks, TheFailureOfASendIsThePrograms) {
  Fixture f;
  f.host.send_error = "the host is full";
  f.Start();
  EXPECT_EQ(ReadyText(f.run.outputs[0][0]), "10: the host is full");
  EXPECT_TRUE(f.host.stream == nullptr);  // it came to no receive
}

TEST(HostCallbacks, ExceptionsOfACallbackAreThePrograms) {
  Fixture f;
  f.host.throws = true;
  f.Start();
  EXPECT_CONTAINS(ReadyText(f.run.outputs[0][0]), "send callback of channel 1 threw");
}

// The program's memory may be gone: what the stream is still given must not be written there.
TEST(HostCallbacks, NothingIsWrittenAfterAnExceptionOfAReceive) {
  Fixture f;
  f.host.receive_throws = true;
  f.Start();
  ASSERT_TRUE(f.host.stream != nullptr);
  EXPECT_CONTAINS(ReadyText(f.run.outputs[0][0]), "receive callback of channel 2 threw");
  EXPECT_CONTAINS(Finish(f.host.Add({1, 2})), "9: PJRT_CopyToDeviceStream_AddChunk: the program");
  EXPECT_EQ(f.host.chunks_freed, 1);
  EXPECT_EQ(f.host.CurrentBytes(), int64_t{0});
  f.host.DestroyStream();
}

// A piece is on its way when the framework gives up: the program, whose memory it is written to,
// must not be over before.
TEST(HostCallbacks, GivingUpWaitsForPiecesUnderWay) {
  Fixture f;
  f.Start();
  Fake::Reset({.manual = true});
  PJRT_Event* written = f.host.Add({1, 2});
  f.host.DestroyStream();
  EXPECT_FALSE(IsReady(f.run.done[0]));
  Fake::RunQueued();
  EXPECT_EQ(Finish(written), "");
  EXPECT_CONTAINS(ReadyText(f.run.outputs[0][0]), "1: the framework sent 8 of the 16 bytes");
}

TEST(HostCallbacks, ChannelsWithoutACallbackAreNamed) {
  Fixture none({{8, 9}});
  none.Start();
  EXPECT_CONTAINS(ReadyText(none.run.outputs[0][0]),
                  "5: the program sends to the host on channel 1");
  Fixture half({{1, 9}});
  half.Start();
  EXPECT_CONTAINS(ReadyText(half.run.outputs[0][0]), "receives from the host on channel 2");
}

// Its callbacks are there until its event is ready, so the event must not be early.
TEST(HostCallbacks, ExecutionsThatCallBackAreNotPoisoned) {
#if PJRT_SCAFFOLD_HAS_PJRT_Device_PoisonExecution
  Fixture f;
  f.Start();
  auto args = Make<PJRT_Device_PoisonExecution_Args>();
  args.device = f.client.device(0);
  args.launch_id = 7;
  args.error_code = PJRT_Error_Code_ABORTED;
  EXPECT_EQ(Text(Api().PJRT_Device_PoisonExecution(&args)), "");
  EXPECT_FALSE(args.poisoned);
  EXPECT_FALSE(IsReady(f.run.done[0]));
  EXPECT_EQ(Finish(f.host.Add({4, 3, 2, 1})), "");
  f.host.DestroyStream();
#endif
}

TEST(HostCallbacks, ListsMustBeThere) {
  Fixture f;
  f.error_expected = true;
  PJRT_SendCallbackInfo* no_list = nullptr;
  for (PJRT_SendCallbackInfo** lists : {static_cast<PJRT_SendCallbackInfo**>(nullptr), &no_list}) {
    auto options = Make<PJRT_ExecuteOptions>();
    options.send_callbacks = lists;
    options.num_send_ops = 1;
    EXPECT_CONTAINS(Execute(f.echo, {{f.x}}, 1, {}, nullptr, options).error,
                    "send_callbacks is null");
  }
  auto options = Make<PJRT_ExecuteOptions>();
  options.num_recv_ops = 1;
  EXPECT_CONTAINS(Execute(f.echo, {{f.x}}, 1, {}, nullptr, options).error,
                  "recv_callbacks is null");
  EXPECT_FALSE(IsDeleted(f.x));
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
