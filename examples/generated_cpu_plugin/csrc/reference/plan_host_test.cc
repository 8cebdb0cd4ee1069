#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "reference/testing_run.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::Completion;
using program::Builder;
using program::F32;
using program::OpCode;

using Floats = std::vector<float>;

// Answers on channel 2, from a thread of its own and in two pieces, with twice what was sent on
// channel 1.
class DoublingHost final : public backend::HostTransfers {
 public:
  ~DoublingHost() override {
    for (std::thread& thread : threads_) thread.join();
  }
  Status Send(int64_t channel, const void* data, size_t bytes) override {
    if (channel != 1) return backend::NotFound("no such channel");
    sent = Values<float>(data, bytes);
    return Status();
  }
  Completion Receive(int64_t channel, size_t bytes, Write write) override {
    if (channel != 2) return Completion(backend::NotFound("no such channel"));
    auto [done, promise] = backend::MakeCompletion();
    auto shared = std::make_shared<backend::Promise>(std::move(promise));
    threads_.emplace_back([this, bytes, write, shared] {
      Floats twice;
      for (float value : sent) twice.push_back(2 * value);
      EXPECT_EQ(twice.size() * sizeof(float), bytes);
      (void)write(twice.data(), 0, 4);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      (void)write(twice.data() + 1, 4, bytes - 4);
      shared->Set(Status());
    });
    return done;
  }

  Floats sent;

 private:
  std::vector<std::thread> threads_;
};

program::AttributeList HostChannel(int64_t channel, bool is_host_transfer = true) {
  return {{"channel_id", {channel}},
          {"channel_type", {int64_t{2}}},
          {"is_host_transfer", {is_host_transfer}}};
}

// Sends x + x on `send`, and returns what comes on `receive`.
Builder Asking(int64_t send, int64_t receive, bool is_host_transfer = true) {
  Builder b({F32({3})});
  auto* sum = b.Add(OpCode::kAdd, {b.argument(0), b.argument(0)}, F32({3}));
  auto* start = b.Add(OpCode::kCreateToken, {}, Type::Token());
  auto* sent =
      b.Add(OpCode::kSend, {sum, start}, Type::Token(), HostChannel(send, is_host_transfer));
  auto results = b.AddOp(OpCode::kRecv, {sent}, {F32({3}), Type::Token()}, HostChannel(receive));
  b.Return({results->result(0)});
  return b;
}

struct Answer {
  Status status;
  Floats values;
};

Answer Ask(Builder b, std::shared_ptr<backend::HostTransfers> host) {
  Harness run;
  auto executable = run.Compile(b.module());
  if (!executable.ok()) return {executable.status(), {}};
  const backend::Argument argument{run.Put(Bytes<float>({1, 2, 3})), false};
  backend::Launch launch;
  launch.device = &run.device();
  launch.arguments = {&argument, 1};
  launch.host = std::move(host);
  auto results = (*executable)->Execute({&launch, 1}, {});
  if (!results.ok()) return {results.status(), {}};
  Status status = (*results)[0].done.Await();
  const auto& out = *(*results)[0].outputs[0];
  return {std::move(status), Values<float>(out.address(), out.bytes())};
}

TEST(HostTransfer, GoesOutAndComesBack) {
  auto host = std::make_shared<DoublingHost>();
  const Answer answer = Ask(Asking(1, 2), host);
  EXPECT_TRUE(answer.status.ok());
  EXPECT_EQ(host->sent, (Floats{2, 4, 6}));
  EXPECT_EQ(answer.values, (Floats{4, 8, 12}));
}

TEST(HostTransfer, FailuresAreTheExecutions) {
  EXPECT_CONTAINS(Ask(Asking(5, 2), std::make_shared<DoublingHost>()).status.message(),
                  "no such channel");
  EXPECT_CONTAINS(Ask(Asking(1, 5), std::make_shared<DoublingHost>()).status.message(),
                  "no such channel");
  EXPECT_CONTAINS(Ask(Asking(1, 2), nullptr).status.message(), "channel 1");
}

TEST(HostTransfer, BetweenDevicesIsUnimplemented) {
  const Answer answer = Ask(Asking(1, 2, false), nullptr);
  EXPECT_EQ(answer.status.code(), backend::Code::kUnimplemented);
  EXPECT_CONTAINS(answer.status.message(), "send");
}

TEST(HostTransfer, OfATokenIsUnimplemented) {
  Builder b({F32({3})});
  auto* start = b.Add(OpCode::kCreateToken, {}, Type::Token());
  b.Add(OpCode::kSend, {start, start}, Type::Token(), HostChannel(1, true));
  b.Return({b.argument(0)});
  const Answer sent = Ask(std::move(b), std::make_shared<DoublingHost>());
  EXPECT_EQ(sent.status.code(), backend::Code::kUnimplemented);
  EXPECT_CONTAINS(sent.status.message(), "it transfers a token");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
