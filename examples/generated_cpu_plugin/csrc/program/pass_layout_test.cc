#include "program/pass_layout.h"

#include <memory>
#include <string>

#include "program/pass_spmd.h"
#include "program/passes.h"
#include "program/read.h"
#include "program/testing_builder.h"
#include "program/verify.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// x -> x + x of these dimensions, with a mode at the argument and one at the result.
Builder Twice(Dims dims, const char* argument_mode, const char* result_mode,
              DType dtype = DType::kF32) {
  const Type type = Type::Tensor(dtype, std::move(dims));
  Builder b({type});
  b.Return({b.Add(OpCode::kAdd, {b.argument(0), b.argument(0)}, type)});
  b.function().argument_attributes[0] = {{"mhlo.layout_mode", {std::string(argument_mode)}}};
  b.function().result_attributes[0] = {{"mhlo.layout_mode", {std::string(result_mode)}}};
  return b;
}

std::string Error(Builder b) { return std::string(LayoutPass(b.module()).message()); }

// The names of main's ops in order.
std::string Names(const Function& main) {
  std::string names;
  for (const auto& op : main.body.ops)
    names += (names.empty() ? "" : " ") + std::string(OpName(op->code));
  return names;
}

TEST(LayoutPass, LeavesRowMajorAlone) {
  for (const char* mode : {"default", "auto", "{2,1,0}", "{2,1,0:E(32)}"}) {
    Builder b = Twice({2, 3, 5}, mode, mode);
    EXPECT_EQ(std::string(LayoutPass(b.module()).message()), "");
    EXPECT_EQ(Names(b.function()), "add return");
    EXPECT_TRUE(b.function().argument_attributes[0].empty());
    EXPECT_TRUE(b.function().result_attributes[0].empty());
  }
}

TEST(LayoutPass, TurnsArgumentsAndResults) {
  Builder b = Twice({2, 3, 5}, "{1,2,0}", "{0,2,1}");
  EXPECT_EQ(std::string(LayoutPass(b.module()).message()), "");
  EXPECT_EQ(std::string(Verify(b.module()).message()), "");
  const Function& main = b.function();
  EXPECT_EQ(Names(main), "transpose add transpose return");
  EXPECT_EQ(main.type.elements[0].dims, (Dims{2, 5, 3}));  // 0, 2, 1: major to minor
  EXPECT_EQ(main.type.elements[1].dims, (Dims{3, 5, 2}));  // 1, 2, 0
  EXPECT_EQ(main.body.ops[0]->type().dims, (Dims{2, 3, 5}));
  EXPECT_EQ(main.body.ops[1]->operands[1], main.body.ops[0]->result());
  const Logical in = LogicalOf(main.argument_attributes[0], main.type.elements[0]);
  EXPECT_EQ(in.type.dims, (Dims{2, 3, 5}));
  EXPECT_EQ(in.minor_to_major, (Ints{1, 2, 0}));
  const Logical out = LogicalOf(main.result_attributes[0], main.type.elements[1]);
  EXPECT_EQ(out.type.dims, (Dims{2, 3, 5}));
  EXPECT_EQ(out.minor_to_major, (Ints{0, 2, 1}));
}

// Once is enough: what the pass says of arguments is not what it reads.
TEST(LayoutPass, ChangesNothingTheSecondTime) {
  Builder b = Twice({2, 3}, "{0,1}", "default");
  EXPECT_TRUE(LayoutPass(b.module()).ok());
  const std::string once = ToString(b.module());
  Builder again = Twice({2, 3}, "default", "default");
  again.function().argument_attributes[0].push_back({"mhlo.minor_to_major", {std::string("no")}});
  EXPECT_TRUE(LayoutPass(again.module()).ok());
  EXPECT_EQ(LogicalOf(again.function().argument_attributes[0], F32({2, 3})).minor_to_major, Ints());
}

TEST(LayoutPass, TransposesThatMeetVanish) {
  const Type type = F32({2, 3});
  Builder b({type});
  b.Return({b.argument(0)});
  b.function().argument_attributes[0] = {{"mhlo.layout_mode", {std::string("{0,1}")}}};
  b.function().result_attributes[0] = {{"mhlo.layout_mode", {std::string("{0,1}")}}};
  EXPECT_TRUE(RunPasses(b.module()).ok());
  EXPECT_EQ(Names(b.function()), "return");
}

TEST(LayoutPass, ReachesIntoRegions) {
  const Type type = F32({2, 3});
  Builder b({type, Bool({})});
  Op* choice = b.AddOp(OpCode::kIf, {b.argument(1)}, {type});
  Value* x = b.argument(0);
  for (int branch = 0; branch < 2; ++branch) {
    b.BeginRegion(choice, {});
    b.Return({x});
  }
  b.Return({choice->result()});
  b.function().argument_attributes[0] = {{"mhlo.layout_mode", {std::string("{0,1}")}}};
  EXPECT_TRUE(LayoutPass(b.module()).ok());
  EXPECT_EQ(std::string(Verify(b.module()).message()), "");
  EXPECT_EQ(choice->regions[1]->ops[0]->operands[0], b.ops()[0]->result());
}

TEST(LayoutPass, TurnsShardings) {
  Builder b = Twice({4, 6}, "{0,1}", "default");
  Sharding sharding;
  sharding.mesh = "m";
  sharding.dims.resize(1);  // rows by x, nothing said of columns
  sharding.dims[0].axes = {{"x"}};
  b.function().argument_attributes[0].push_back({"sdy.sharding", {sharding}});
  EXPECT_TRUE(LayoutPass(b.module()).ok());
  const AttributeList& attributes = b.function().argument_attributes[0];
  const Sharding* in_memory = FindSharding(attributes);
  ASSERT_TRUE(in_memory != nullptr);
  EXPECT_TRUE(in_memory->dims[0].axes.empty());
  EXPECT_EQ(in_memory->dims[1].axes[0].name, "x");
  const Logical logical = LogicalOf(attributes, b.function().type.elements[0]);
  EXPECT_EQ(logical.sharding->dims[0].axes[0].name, "x");
  EXPECT_TRUE(logical.sharding->dims[1].axes.empty());
}

TEST(LayoutPass, SaysWhatIsNoLayout) {
  for (const char* mode : {"", "{", "columns", "{0}", "{0,0}", "{0,2}", "{0,-1}", "{0,1,}", "{0 1}",
                           "{0,1,2}", "{}", "{99999999999999999999,0}"}) {
    Builder b = Twice({2, 3}, "default", mode);
    const backend::Status status = LayoutPass(b.module());
    EXPECT_TRUE(status.code() == backend::Code::kInvalidArgument);
    EXPECT_CONTAINS(status.message(), "mhlo.layout_mode of result 0 of main");
    EXPECT_CONTAINS(status.message(), "\"" + std::string(mode) + "\"");
  }
}

TEST(LayoutPass, SaysWhichLayoutsAreAccepted) {
  for (const char* mode : {"{0,1:T(8,128)}", "{0,1:T(2,2)(2,1)}", "{0,1:E(4)}"}) {
    Builder b = Twice({2, 3}, mode, "default");
    const backend::Status status = LayoutPass(b.module());
    EXPECT_TRUE(status.code() == backend::Code::kUnimplemented);
    EXPECT_CONTAINS(status.message(), "argument 0 of main, a tensor<2x3xf32>");
    EXPECT_CONTAINS(status.message(), "like \"{0,1}\"");
  }
  // JAX says how wide an int4 is, whatever the array's own layout says.
  EXPECT_EQ(Error(Twice({2, 3}, "{0,1:E(4)}", "default", DType::kS4)), "");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
