#include "reference/executable.h"

#include <cstring>
#include <string>
#include <vector>

#include "reference/serialized.h"
#include "reference/testing_run.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::Argument;
using backend::Completion;
using program::Builder;
using program::F32;
using program::OpCode;

using Floats = std::vector<float>;

Floats Read(const backend::Allocation& block) {
  return Values<float>(block.address(), block.bytes());
}

// x + x, the first argument donated to the only result.
Builder Doubling(bool aliased) {
  Builder b({F32({3})});
  if (aliased) b.function().argument_attributes[0] = {{"tf.aliasing_output", {int64_t{0}}}};
  b.Return({b.Add(OpCode::kAdd, {b.argument(0), b.argument(0)}, F32({3}))});
  return b;
}

TEST(Executable, DonatedBlockBecomesTheOutput) {
  Harness run;
  Builder b = Doubling(true);
  auto executable = *run.Compile(b.module());
  EXPECT_TRUE(executable->info().parameters[0].donated_to_output == 0);
  auto block = run.Put(Bytes<float>({1, 2, 3}));
  auto results = run.Launch(*executable, {{Argument{block, true}}});
  ASSERT_TRUE(results.ok());
  EXPECT_TRUE((*results)[0].done.Await().ok());
  EXPECT_TRUE((*results)[0].outputs[0] == block);
  EXPECT_EQ(Read(*block), (Floats{2, 4, 6}));
}

TEST(Executable, BlockThatIsNotDonatedStaysAsItWas) {
  Harness run;
  Builder b = Doubling(true);
  auto executable = *run.Compile(b.module());
  auto block = run.Put(Bytes<float>({1, 2, 3}));
  auto results = run.Launch(*executable, {{Argument{block, false}}});
  ASSERT_TRUE(results.ok());
  EXPECT_TRUE((*results)[0].outputs[0] != block);
  EXPECT_EQ(Read(*block), (Floats{1, 2, 3}));
  EXPECT_EQ(Read(*(*results)[0].outputs[0]), (Floats{2, 4, 6}));
}

// Both results are made from both arguments, so neither can be made where an argument lies.
TEST(Executable, CrossedDonationsAreRight) {
  Harness run;
  Builder b({F32({2}), F32({2})});
  b.function().argument_attributes[0] = {{"tf.aliasing_output", {int64_t{1}}}};
  b.function().argument_attributes[1] = {{"tf.aliasing_output", {int64_t{0}}}};
  b.Return({b.argument(0), b.argument(1)});
  auto executable = *run.Compile(b.module());
  auto x = run.Put(Bytes<float>({1, 2}));
  auto y = run.Put(Bytes<float>({3, 4}));
  auto results = run.Launch(*executable, {{Argument{x, true}, Argument{y, true}}});
  ASSERT_TRUE(results.ok());
  EXPECT_TRUE((*results)[0].outputs[0] == y);
  EXPECT_TRUE((*results)[0].outputs[1] == x);
  EXPECT_EQ(Read(*y), (Floats{1, 2}));
  EXPECT_EQ(Read(*x), (Floats{3, 4}));
}

TEST(Executable, WaitsForItsInputs) {
  Harness run;
  Builder b = Doubling(false);
  auto executable = *run.Compile(b.module());
  auto block = run.Put(Bytes<float>({0, 0, 0}));
  auto [ready, promise] = backend::MakeCompletion();
  std::vector<backend::Argument> arguments = {Argument{block, false}};
  auto results = run.Launch(*executable, {arguments}, {ready});
  ASSERT_TRUE(results.ok());
  EXPECT_FALSE((*results)[0].done.IsReady());
  const float values[] = {1, 2, 3};
  std::memcpy(block->address(), values, sizeof(values));
  promise.Set(Status());
  EXPECT_TRUE((*results)[0].done.Await().ok());
  EXPECT_EQ(Read(*(*results)[0].outputs[0]), (Floats{2, 4, 6}));
}

TEST(Executable, FailedInputFailsTheResult) {
  Harness run;
  Builder b = Doubling(false);
  auto executable = *run.Compile(b.module());
  auto results = run.Launch(*executable, {{Argument{run.Put(Bytes<float>({1, 2, 3})), false}}},
                            {Completion(backend::Internal("lost"))});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[0].done.Await().message(), std::string_view("lost"));
}

TEST(Executable, RefusesShortBlocksAndWrongCounts) {
  Harness run;
  Builder b = Doubling(false);
  auto executable = *run.Compile(b.module());
  EXPECT_CONTAINS(
      run.Launch(*executable, {{Argument{run.Put(Bytes<float>({1})), false}}}).status().message(),
      "argument 0 has 4 bytes");
  EXPECT_CONTAINS(run.Launch(*executable, {{}}).status().message(), "takes 1 arguments");
  EXPECT_CONTAINS(run.Launch(*executable, {}).status().message(), "runs on 1 devices");
}

// all_reduce over four replicas in the groups given.
Builder AllReduce(std::vector<program::Attribute> groups) {
  Builder b({F32({2})});
  Op* op = b.AddOp(OpCode::kAllReduce, {b.argument(0)}, {F32({2})},
                   {{"channel_id", {int64_t{0}}},
                    {"replica_groups", {std::move(groups)}},
                    {"use_global_device_ids", {false}}});
  b.BeginRegion(op, {F32({}), F32({})});
  auto& arguments = op->regions[0]->arguments;
  b.Return({b.Add(OpCode::kAdd, {arguments[0].get(), arguments[1].get()}, F32({}))});
  b.Return({op->result()});
  return b;
}

TEST(Executable, RunsApartWhereNoDeviceWaitsForAnother) {
  Harness run;
  Builder alone = Doubling(false);
  auto executable = *run.Compile(alone.module(), {.num_replicas = 4, .num_partitions = 1});
  EXPECT_TRUE(executable->info().runs_apart);
  auto results = run.Launch(*executable, {{Argument{run.Put(Bytes<float>({1, 2, 3})), false}}});
  ASSERT_TRUE(results.ok());
  EXPECT_TRUE((*results)[0].done.Await().ok());
  EXPECT_EQ(Read(*(*results)[0].outputs[0]), (Floats{2, 4, 6}));

  Builder together = AllReduce({});
  executable = *run.Compile(together.module(), {.num_replicas = 4, .num_partitions = 1});
  EXPECT_FALSE(executable->info().runs_apart);
  EXPECT_CONTAINS(run.Launch(*executable, {{Argument{run.Put(Bytes<float>({1, 2})), false}}})
                      .status()
                      .message(),
                  "runs on 4 devices, but was launched on 1");
}

std::vector<Floats> RunOnFour(Harness& run, PlanExecutable& executable) {
  std::vector<std::vector<Argument>> arguments;
  for (size_t i = 0; i < 4; ++i)
    arguments.push_back({Argument{run.Put(Bytes<float>({float(i), float(10 * i)}), i), false}});
  auto results = run.Launch(executable, arguments);
  std::vector<Floats> values;
  if (!results.ok()) return values;
  for (auto& one : *results) {
    if (!one.done.Await().ok()) return {};
    values.push_back(Read(*one.outputs[0]));
  }
  return values;
}

TEST(Executable, AllReduceOverFourDevices) {
  Harness run;
  Builder b = AllReduce({});
  auto executable = *run.Compile(b.module(), {.num_replicas = 4, .num_partitions = 1});
  for (int turn = 0; turn < 50; ++turn)
    EXPECT_EQ(RunOnFour(run, *executable), std::vector<Floats>(4, {6, 60}));
}

TEST(Executable, AllReduceInGroups) {
  Harness run;
  Builder b = AllReduce({{program::Ints{0, 3}}, {program::Ints{1, 2}}});
  auto executable = *run.Compile(b.module(), {.num_replicas = 4, .num_partitions = 1});
  EXPECT_EQ(RunOnFour(run, *executable), (std::vector<Floats>{{3, 30}, {3, 30}, {3, 30}, {3, 30}}));
}

// pitfall 69: caches take another program for this one, or take none
TEST(Serialized, RoundTripsAndRefusesOthers) {
  std::string bytes = Serialize({2, 3}, "code");
  auto program = Deserialize(bytes);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->code, std::string("code"));
  EXPECT_EQ(program->partitioning.num_partitions, 3);
  EXPECT_TRUE(Deserialize("MLxR").status().code() == backend::Code::kInvalidArgument);
  EXPECT_TRUE(Deserialize(bytes.substr(0, 30)).status().code() == backend::Code::kInvalidArgument);
  std::string other = bytes;
  other[other.find("plan ") + 5] = 'X';
  EXPECT_TRUE(Deserialize(other).status().code() == backend::Code::kFailedPrecondition);
  EXPECT_NE(FingerprintOf(bytes), FingerprintOf(other));
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
