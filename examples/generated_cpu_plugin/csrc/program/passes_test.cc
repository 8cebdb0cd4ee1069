#include "program/passes.h"

#include <cmath>
#include <cstring>
#include <string>

#include "program/op_table.h"
#include "program/pass_inline.h"
#include "program/read.h"
#include "program/sample_programs.h"
#include "program/testing_builder.h"
#include "program/verify.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// Runs all passes, checks that the result is valid, and gives the names of main's ops: "sine add
// return".
std::string Optimized(Builder& b) {
  EXPECT_EQ(std::string(Verify(b.module()).message()), "");
  EXPECT_TRUE(RunPasses(b.module()).ok());
  EXPECT_EQ(std::string(Verify(b.module()).message()), "");
  std::string names;
  for (const auto& op : b.module().main()->body.ops)
    names += (names.empty() ? "" : " ") + std::string(OpName(op->code));
  return names;
}

// The value that main returns first.
Value* Returned(Builder& b) { return b.module().main()->body.terminator()->operands[0]; }

TEST(Passes, RemoveWhatNothingUses) {
  Builder b({F32({2})});
  b.Add(OpCode::kSine, {b.argument(0)}, F32({2}));
  b.Return({b.argument(0)});
  EXPECT_EQ(Optimized(b), "return");
}

TEST(Passes, TokensOfMainBecomeEmptyArrays) {
  Builder b({Type::Token(), F32({2})});
  Op* sent = b.AddOp(OpCode::kSend, {b.argument(1), b.argument(0)}, {Type::Token()},
                     {{"channel_id", {int64_t{1}}},
                      {"channel_type", {int64_t{2}}},
                      {"is_host_transfer", {true}},
                      {"source_target_pairs", {Ints{}}}});
  b.Return({sent->result(), b.argument(1)});
  EXPECT_EQ(Optimized(b), "create_token constant send return");
  const Function& main = *b.module().main();
  const Type empty = Type::Tensor(DType::kPred, {0});
  EXPECT_TRUE(main.body.arguments[0]->type == empty && Returned(b)->type == empty);
  EXPECT_EQ(main.type.elements.size(), 4u);
  EXPECT_TRUE(main.type.elements[0] == empty && main.type.elements[2] == empty);
}

TEST(Passes, ResultsWithoutElementsNeedNoOp) {
  Builder b({F32({0, 2})});
  Op* call = b.AddOp(OpCode::kCustomCall, {b.argument(0)}, {F32({0, 2}), I32({})},
                     {{"call_target_name", {std::string("decompose")}},
                      {"has_side_effect", {false}},
                      {"backend_config", {std::string()}},
                      {"api_version", {int64_t{1}}},
                      {"called_computations", {std::vector<Attribute>()}},
                      {"operand_layouts", {std::vector<Attribute>()}},
                      {"result_layouts", {std::vector<Attribute>()}},
                      {"result_tilings", {std::vector<Attribute>()}},
                      {"output_operand_aliases", {std::vector<Attribute>()}}});
  b.Return({b.Add(OpCode::kNegate, {call->result()}, F32({0, 2}))});
  EXPECT_EQ(Optimized(b), "constant return");
}

TEST(Passes, KeepCollectives) {
  Builder b({F32({2})});
  b.Add(OpCode::kCollectivePermute, {b.argument(0)}, F32({2}),
        {{"channel_id", {int64_t{1}}}, {"source_target_pairs", {Ints{0, 1}}}});
  b.Return({b.argument(0)});
  EXPECT_EQ(Optimized(b), "collective_permute return");
}

TEST(Passes, MergeEqualOps) {
  Builder b({F32({2})});
  Value* one = b.Add(OpCode::kSine, {b.argument(0)}, F32({2}));
  Value* other = b.Add(OpCode::kSine, {b.argument(0)}, F32({2}));
  b.Return({b.Add(OpCode::kMultiply, {one, other}, F32({2}))});
  EXPECT_EQ(Optimized(b), "sine multiply return");
}

TEST(Passes, KeepBarriersApart) {
  Builder b({F32({2})});
  Value* one = b.Add(OpCode::kOptimizationBarrier, {b.argument(0)}, F32({2}));
  Value* other = b.Add(OpCode::kOptimizationBarrier, {b.argument(0)}, F32({2}));
  b.Return({one, other});
  EXPECT_EQ(Optimized(b), "optimization_barrier optimization_barrier return");
}

TEST(Passes, KeepTheSignOfZero) {
  for (float zero : {0.0f, -0.0f}) {
    Builder b({F32({2})});
    Value* constant = b.Constant(MakeLiteral<float>(F32({2}), {zero}));
    b.Return({b.Add(OpCode::kAdd, {b.argument(0), constant}, F32({2}))});
    EXPECT_EQ(Optimized(b), std::signbit(zero) ? "return" : "constant add return");
  }
}

TEST(Passes, DropNeutralOperands) {
  Builder b({I32({2})});
  Value* one = b.Constant(MakeLiteral<int32_t>(I32({2}), {1}));
  Value* zero = b.Constant(MakeLiteral<int32_t>(I32({2}), {0}));
  Value* ones = b.Constant(MakeLiteral<int32_t>(I32({2}), {-1}));
  Value* x = b.Add(OpCode::kMultiply, {b.argument(0), one}, I32({2}));
  x = b.Add(OpCode::kAdd, {zero, x}, I32({2}));
  x = b.Add(OpCode::kAnd, {x, ones}, I32({2}));
  x = b.Add(OpCode::kOr, {x, x}, I32({2}));
  x = b.Add(OpCode::kNot, {b.Add(OpCode::kNot, {x}, I32({2}))}, I32({2}));
  b.Return({x});
  EXPECT_EQ(Optimized(b), "return");
  EXPECT_EQ(Returned(b), b.module().main()->body.arguments[0].get());
}

TEST(Passes, JoinMoves) {
  Builder b({F32({2, 3, 4})});
  Value* x = b.Add(OpCode::kTranspose, {b.argument(0)}, F32({4, 2, 3}),
                   {{"permutation", {Ints{2, 0, 1}}}});
  x = b.Add(OpCode::kTranspose, {x}, F32({3, 4, 2}), {{"permutation", {Ints{2, 0, 1}}}});
  b.Return({x});
  EXPECT_EQ(Optimized(b), "transpose return");
  EXPECT_EQ(Returned(b)->op->IntList("permutation"), (Ints{1, 2, 0}));
}

TEST(Passes, DropMovesThatUndoEachOther) {
  Builder b({F32({2, 3})});
  Value* x =
      b.Add(OpCode::kTranspose, {b.argument(0)}, F32({3, 2}), {{"permutation", {Ints{1, 0}}}});
  x = b.Add(OpCode::kTranspose, {x}, F32({2, 3}), {{"permutation", {Ints{1, 0}}}});
  x = b.Add(OpCode::kReshape, {b.Add(OpCode::kReshape, {x}, F32({6}))}, F32({2, 3}));
  x = b.Add(OpCode::kBroadcastInDim, {x}, F32({2, 3}), {{"broadcast_dimensions", {Ints{0, 1}}}});
  b.Return({x});
  EXPECT_EQ(Optimized(b), "return");
}

TEST(Passes, KeepABroadcastThatTransposes) {
  Builder b({F32({2, 2})});
  b.Return({b.Add(OpCode::kBroadcastInDim, {b.argument(0)}, F32({2, 2}),
                  {{"broadcast_dimensions", {Ints{1, 0}}}})});
  EXPECT_EQ(Optimized(b), "broadcast_in_dim return");
}

TEST(Passes, FoldIntegers) {
  Builder b({});
  Value* a = b.Constant(MakeLiteral<int32_t>(I32({3}), {1, 2, 2147483647}));
  Value* c = b.Constant(MakeLiteral<int32_t>(I32({3}), {1}));
  Value* sum = b.Add(OpCode::kAdd, {a, c}, I32({3}));
  Value* above = b.Add(OpCode::kCompare, {sum, c}, Bool({3}),
                       {{"compare_type", {int64_t(ComparisonType::kSigned)}},
                        {"comparison_direction", {int64_t(ComparisonDirection::kGt)}}});
  b.Return({sum, above});
  EXPECT_EQ(Optimized(b), "constant constant return");
  const Literal& folded = Returned(b)->op->Constant();
  EXPECT_EQ(folded.IntAt(0), 2);
  EXPECT_EQ(folded.IntAt(2), -2147483648);  // wraps
  const Literal& compared = b.module().main()->body.terminator()->operands[1]->op->Constant();
  EXPECT_EQ(compared.IntAt(0), 1);
  EXPECT_EQ(compared.IntAt(2), 0);
}

TEST(Passes, FoldMovesOfConstants) {
  Builder b({});
  Value* a = b.Constant(MakeLiteral<float>(F32({2, 2}), {1, 2, 3, 4}));
  Value* t = b.Add(OpCode::kTranspose, {a}, F32({2, 2}), {{"permutation", {Ints{1, 0}}}});
  Value* row = b.Add(OpCode::kSlice, {t}, F32({1, 2}),
                     {{"limit_indices", {Ints{2, 2}}},
                      {"start_indices", {Ints{1, 0}}},
                      {"strides", {Ints{1, 1}}}});
  b.Return({b.Add(OpCode::kReverse, {row}, F32({1, 2}), {{"dimensions", {Ints{1}}}})});
  EXPECT_EQ(Optimized(b), "constant return");
  float values[2];
  std::memcpy(values, Returned(b)->op->Constant().bytes(), sizeof(values));
  EXPECT_EQ(values[0], 4.0f);
  EXPECT_EQ(values[1], 2.0f);
}

// An operand of other dimensions has no element, or another one, for each element of the result.
TEST(Passes, FoldOnlyElementsSideBySide) {
  Builder b({});
  Value* none = b.Constant(MakeLiteral<int32_t>(I32({0}), {}));
  Value* two = b.Constant(MakeLiteral<int32_t>(I32({2}), {1, 2}));
  Value* three = b.Constant(MakeLiteral<int32_t>(I32({3}), {3, 4, 5}));
  Value* five = b.Add(OpCode::kConcatenate, {two, three}, I32({5}), {{"dimension", {int64_t{0}}}});
  Value* same = b.Add(OpCode::kConcatenate, {none, two}, I32({2}), {{"dimension", {int64_t{0}}}});
  b.Return({five, same});
  EXPECT_EQ(Optimized(b), "constant constant concatenate return");
  EXPECT_EQ(b.module().main()->body.terminator()->operands[1]->op->Constant().IntAt(1), 2);
}

TEST(Passes, LeaveFloatArithmeticToTheBackend) {
  Builder b({});
  Value* a = b.Constant(MakeLiteral<float>(F32({}), {1}));
  b.Return({b.Add(OpCode::kSine, {b.Add(OpCode::kAdd, {a, a}, F32({}))}, F32({}))});
  EXPECT_EQ(Optimized(b), "constant add sine return");
}

TEST(Passes, ClampConstantStartsOfSlices) {
  Builder b({F32({4})});
  Value* start = b.Constant(MakeLiteral<int32_t>(I32({}), {7}));
  b.Return({b.Add(OpCode::kDynamicSlice, {b.argument(0), start}, F32({3}),
                  {{"slice_sizes", {Ints{3}}}})});
  EXPECT_EQ(Optimized(b), "slice return");
  EXPECT_EQ(Returned(b)->op->IntList("start_indices"), Ints{1});
}

// What was dropped in a region must not be taken for the constants that come after it, which may
// lie where it lay.
TEST(Passes, ReplaceResultsWithoutElements) {
  Builder b({F32({}), F32({0})});
  Value* const scalar = b.argument(0);
  Value* const none = b.argument(1);
  Value* const zero = b.Constant(MakeLiteral<int32_t>(I32({}), {0}));
  Op* branches = b.AddOp(OpCode::kCase, {b.Add(OpCode::kConvert, {scalar}, I32({}))}, {I32({})});
  for (int region = 0; region < 2; ++region) {
    b.BeginRegion(branches, {});
    Value* x = b.Add(OpCode::kConvert, {scalar}, I32({}));
    for (int i = 0; i < 50; ++i) x = b.Add(OpCode::kAdd, {x, zero}, I32({}));
    b.Return({x});
  }
  std::vector<Value*> results = {branches->result()};
  for (int i = 0; i < 50; ++i) results.push_back(b.Add(OpCode::kSine, {none}, F32({0})));
  b.Return(std::move(results));
  Optimized(b);
  const Op* end = b.module().main()->body.terminator();
  for (size_t i = 1; i < end->operands.size(); ++i) {
    EXPECT_EQ(end->operands[i]->type, F32({0}));
    EXPECT_EQ(end->operands[i]->op->code, OpCode::kConstant);
  }
}

// case(index) of two branches: sine and cosine.
void AddCase(Builder& b, Value* index, Value* x) {
  Op* branches = b.AddOp(OpCode::kCase, {index}, {F32({})});
  for (OpCode code : {OpCode::kSine, OpCode::kCosine}) {
    b.BeginRegion(branches, {});
    b.Return({b.Add(code, {x}, F32({}))});
  }
  b.Return({branches->result()});
}

TEST(Passes, TakeTheBranchOfAConstant) {
  for (const auto& [index, name] : {std::pair(0, "sine"), std::pair(1, "cosine"),
                                    std::pair(-5, "cosine"), std::pair(9, "cosine")}) {
    Builder b({F32({})});
    Value* x = b.argument(0);
    AddCase(b, b.Constant(MakeLiteral<int32_t>(I32({}), {index})), x);
    EXPECT_EQ(Optimized(b), std::string(name) + " return");
  }
}

TEST(Passes, InlineCallsInCalls) {
  Builder b({F32({})});
  const auto call = [&](const char* callee, Value* x) {
    return b.Add(OpCode::kCall, {x}, F32({}), {{"callee", {std::string(callee)}}});
  };
  b.Return({call("twice", call("twice", b.argument(0)))});
  b.AddFunction({F32({})}, "twice");
  b.Return({call("once", call("once", b.argument(0)))});
  b.AddFunction({F32({})}, "once");
  b.Return({b.Add(OpCode::kSine, {b.argument(0)}, F32({}))});
  EXPECT_EQ(Optimized(b), "sine sine sine sine return");
  EXPECT_EQ(b.module().functions.size(), 1u);
}

TEST(Passes, InlineIntoRegions) {
  Builder b({Type::Tensor(DType::kS32, {}), F32({})});
  Value* x = b.argument(1);
  Op* branch = b.AddOp(OpCode::kCase, {b.argument(0)}, {F32({})});
  b.BeginRegion(branch, {});
  b.Return({b.Add(OpCode::kCall, {x}, F32({}), {{"callee", {std::string("f")}}})});
  b.Return({branch->result()});
  b.AddFunction({F32({})}, "f");
  b.Return({b.argument(0)});
  EXPECT_EQ(Optimized(b), "case return");
  EXPECT_EQ(Returned(b)->op->regions[0]->terminator()->operands[0], x);
}

TEST(Passes, KeepCompositesOnRequest) {
  for (bool keep : {false, true}) {
    Builder b({F32({})});
    b.Return({b.Add(OpCode::kComposite, {b.argument(0)}, F32({}),
                    {{"composite_attributes", {AttributeList()}},
                     {"decomposition", {std::string("f")}},
                     {"name", {std::string("chlo.erf")}},
                     {"version", {int64_t{1}}}})});
    b.AddFunction({F32({})}, "f");
    b.Return({b.Add(OpCode::kTanh, {b.argument(0)}, F32({}))});
    PassOptions options;
    if (keep) options.kept_composites.insert("chlo.erf");
    EXPECT_TRUE(RunPasses(b.module(), options).ok());
    EXPECT_EQ(Returned(b)->op->code, keep ? OpCode::kComposite : OpCode::kTanh);
    EXPECT_EQ(b.module().functions.size(), keep ? 2u : 1u);
  }
}

// f0 calls f1 twice, which calls f2 twice, ...: a short program of 2^60 ops.
TEST(Passes, BoundWhatInliningMakes) {
  Builder b({F32({})});
  for (int i = 0; i < 60; ++i) {
    const auto call = [&](Value* x) {
      return b.Add(OpCode::kCall, {x}, F32({}), {{"callee", {"f" + std::to_string(i)}}});
    };
    b.Return({call(call(b.argument(0)))});
    b.AddFunction({F32({})}, "f" + std::to_string(i));
  }
  b.Return({b.Add(OpCode::kSine, {b.argument(0)}, F32({}))});
  EXPECT_TRUE(Verify(b.module()).ok());
  EXPECT_EQ(RunPasses(b.module()).code(), backend::Code::kResourceExhausted);
}

TEST(Passes, LeaveARealProgramValid) {
  auto module = ReadProgram(SampleText(kEverything));
  ASSERT_TRUE(module.ok());
  EXPECT_TRUE(RunPasses(**module).ok());
  EXPECT_EQ(std::string(Verify(**module).message()), "");
  EXPECT_EQ((*module)->functions.size(), 1u);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
