#include "program/pass_spmd.h"

#include <string>

#include "program/legacy_programs.h"
#include "program/passes.h"
#include "program/read.h"
#include "program/verify.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

std::unique_ptr<Module> Read(std::string_view text) {
  auto module = ReadProgram(text);
  if (module.ok()) return std::move(*module);
  ADD_FAILURE() << std::string(module.status().message());
  return std::make_unique<Module>();
}

// The names of main's ops in order, targets for custom calls.
std::string Names(const Module& module) {
  std::string names;
  for (const auto& op : module.main()->body.ops) {
    names += names.empty() ? "" : " ";
    names += op->code == OpCode::kCustomCall ? op->String("call_target_name")
                                             : std::string(OpName(op->code));
  }
  return names;
}

// pitfall 73: shardings cannot be parsed, so the partitioner is turned off for the whole process
TEST(SpmdPass, EveryPartitionerComesToOneForm) {
  for (std::string_view text : {kForShardy, kForEarlyShardy, kForGspmd}) {
    auto module = Read(text);
    EXPECT_EQ(std::string(RunPasses(*module).message()), "");
    EXPECT_EQ(std::string(Verify(*module).message()), "");
    EXPECT_EQ(Names(*module),
              "SPMDFullToShardShape partition_id convert broadcast_in_dim add SPMDShardToFullShape "
              "return");
    const Function& main = *module->main();
    const Op& first = *main.body.ops.front();
    const Op& last = **(main.body.ops.end() - 2);
    const AttributeList all[] = {main.argument_attributes[0], main.result_attributes[0],
                                 first.discardable, last.discardable};
    for (const AttributeList& attributes : all) {
      const Sharding* sharding = FindSharding(attributes);
      ASSERT_TRUE(sharding != nullptr);
      EXPECT_EQ(sharding->dims[0].axes.size(), size_t{1});
      EXPECT_EQ(sharding->dims[1].axes.size(), size_t{0});
    }
    // Shardy's verifier: an op has a list, an argument does not.
    const std::string printed = ToString(*module);
    EXPECT_CONTAINS(printed, "sdy.sharding = #sdy.sharding_per_value<[<");
    EXPECT_CONTAINS(printed, "sdy.sharding = #sdy.sharding<");
  }
}

TEST(SpmdPass, RefusesAShardingThatItCannotRead) {
  std::string text(kForGspmd);
  text.replace(text.find("{devices=[4,1]<=[4]}"), 20, "{devices=[5,1]<=[4]}");
  auto module = Read(text);
  const backend::Status status = RunPasses(*module);
  EXPECT_TRUE(status.code() == backend::Code::kInvalidArgument);
  EXPECT_CONTAINS(status.message(), "{devices=[5,1]<=[4]}");
}

// The text with one word in another's place.
std::string With(std::string_view program, std::string_view from, std::string_view to) {
  std::string text(program);
  text.replace(text.find(from), from.size(), to);
  return text;
}

// A custom call says of its types what it likes: what only gives its operand on may not change it.
TEST(SpmdPass, LeavesACallThatDoesNotGiveItsOperandOn) {
  for (std::string_view target : {"Sharding", "xla.sdy.FuncResultSharding"}) {
    std::string text = With(kTopK, "mhlo.topk", target);
    text = With(text, "%1:2", "%1");
    text = With(text, "-> (tensor<2x2xf32>, tensor<2x2xi32>)\n    \"func.return\"(%1#0, %1#1)",
                "-> tensor<2x2xf32>\n    \"func.return\"(%1)");
    text = With(text, ": (tensor<2x2xf32>, tensor<2x2xi32>) -> ()", ": (tensor<2x2xf32>) -> ()");
    text = With(text, "-> (tensor<2x2xf32>, tensor<2x2xi32>), sym_name",
                "-> tensor<2x2xf32>, sym_name");
    auto module = Read(text);
    EXPECT_TRUE(RunPasses(*module).ok());
    EXPECT_EQ(std::string(Verify(*module).message()), "");
    EXPECT_EQ(Names(*module), std::string(target) + " return");
  }
}

// Of the three parts of a manual computation the first alone makes no values.
TEST(SpmdPass, RefusesPartsThatNoCallTakes) {
  auto module = Read(
      With(kForEarlyShardy, "\"func.call\"(%1) <{callee = @body}>", "\"stablehlo.negate\"(%1)"));
  const backend::Status status = RunPasses(*module);
  EXPECT_TRUE(status.code() == backend::Code::kInvalidArgument);
  EXPECT_CONTAINS(status.message(), "negate");
  EXPECT_CONTAINS(status.message(), "xla.sdy.GlobalToLocalShape");
}

// Without Shardy's attributes and operations: then also frameworks that do not know them convert
// the text to HLO.
TEST(SpmdPass, DroppedShardingsLeaveNothingOfShardy) {
  auto module = Read(kForShardy);
  EXPECT_TRUE(RunPasses(*module).ok());
  EXPECT_CONTAINS(ToString(*module), "sdy.");
  DropShardings(*module);
  EXPECT_EQ(ToString(*module).find("sdy."), std::string::npos);
  EXPECT_TRUE(ReadProgram(ToString(*module)).ok());
}

TEST(LegacyPass, TopKIsASort) {
  auto module = Read(kTopK);
  EXPECT_TRUE(RunPasses(*module).ok());
  EXPECT_EQ(std::string(Verify(*module).message()), "");
  EXPECT_EQ(Names(*module), "iota sort slice slice return");
}

TEST(LegacyPass, ApproxTopKIsASort) {
  auto module = Read(kApproxTopK);
  EXPECT_TRUE(RunPasses(*module).ok());
  EXPECT_EQ(std::string(Verify(*module).message()), "");
  EXPECT_EQ(Names(*module), "iota sort slice slice return");
}

// Another dimension than the results say, none there is, or a comparator that is none.
TEST(LegacyPass, LeavesAnApproxTopKThatMakesNoSense) {
  for (const auto& [was, is] :
       {std::pair<std::string_view, std::string_view>("reduction_dim = 1", "reduction_dim = 0"),
        {"reduction_dim = 1", "reduction_dim = 2"},
        {"reduction_dim = 1", "reduction_dim = -1"},
        {"called_computations = [@above]", "called_computations = []"},
        {"%i: tensor<i32>, %j", "%i: tensor<f32>, %j"}}) {
    auto module = Read(With(kApproxTopK, was, is));
    EXPECT_TRUE(RunPasses(*module).ok());
    EXPECT_CONTAINS(Names(*module), "ApproxTopK");
  }
}

// More than there are, or other than the results hold: not made, so that the backend refuses it by
// name.
TEST(LegacyPass, LeavesATopKThatMakesNoSense) {
  for (std::string_view k : {"k = 9", "k = 3", "k = -2"}) {
    auto module = Read(With(kTopK, "k = 2", k));
    EXPECT_TRUE(RunPasses(*module).ok());
    EXPECT_EQ(Names(*module), "mhlo.topk return");
  }
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
