// Programs that exercise one lowering each: hand-made IR in, numbers out.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "program/op_table.h"
#include "reference/testing_run.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::AttributeList;
using program::Bool;
using program::Builder;
using program::F32;
using program::I32;
using program::Ints;
using program::MakeLiteral;
using program::OpCode;

using Floats = std::vector<float>;
using Numbers = std::vector<int32_t>;

// A reduce, scatter or collective body of one operation.
void AddBody(Builder& b, Op* op, OpCode code, const Type& scalar) {
  b.BeginRegion(op, {scalar, scalar});
  Block& body = *op->regions.back();
  Value* result = b.Add(code, {body.arguments[0].get(), body.arguments[1].get()}, scalar);
  b.Return({result});
}

TEST(Plan, ChainOfElementwiseOpsIsOneStep) {
  Builder b({F32({5}), F32({5})});
  Value* sum = b.Add(OpCode::kAdd, {b.argument(0), b.argument(1)}, F32({5}));
  Value* product = b.Add(OpCode::kMultiply, {sum, sum}, F32({5}));
  b.Return({b.Add(OpCode::kNegate, {product}, F32({5}))});
  Harness run;
  EXPECT_EQ(
      run.One<float>(b.module(), {Bytes<float>({1, 2, 3, 4, 5}), Bytes<float>({1, 1, 1, 1, 1})}),
      (Floats{-4, -9, -16, -25, -36}));
  EXPECT_EQ((*run.Compile(b.module()))->plan().body.steps.size(), size_t{1});
  EXPECT_EQ((*run.Compile(b.module()))->plan().temp_bytes, size_t{0});
}

TEST(Plan, BroadcastAndTransposeAreReadInPlace) {
  Builder b({F32({2}), F32({3, 2})});
  Value* wide = b.Add(OpCode::kBroadcastInDim, {b.argument(0)}, F32({2, 3}),
                      {{"broadcast_dimensions", {Ints{0}}}});
  Value* turned =
      b.Add(OpCode::kTranspose, {b.argument(1)}, F32({2, 3}), {{"permutation", {Ints{1, 0}}}});
  b.Return({b.Add(OpCode::kAdd, {wide, turned}, F32({2, 3}))});
  Harness run;
  EXPECT_EQ(run.One<float>(b.module(), {Bytes<float>({10, 20}), Bytes<float>({0, 1, 2, 3, 4, 5})}),
            (Floats{10, 12, 14, 21, 23, 25}));
  EXPECT_EQ((*run.Compile(b.module()))->plan().body.steps.size(), size_t{1});
}

TEST(Plan, IotaRankZeroAndZeroSize) {
  Builder b({F32({}), F32({0, 3})});
  Value* iota = b.Add(OpCode::kIota, {}, I32({2, 3}), {{"iota_dimension", {int64_t{1}}}});
  Value* scalar = b.Add(OpCode::kAdd, {b.argument(0), b.argument(0)}, F32({}));
  Value* none = b.Add(OpCode::kNegate, {b.argument(1)}, F32({0, 3}));
  b.Return({iota, scalar, none});
  Harness run;
  std::vector<Data> all = run.All(b.module(), {Bytes<float>({4}), {}});
  ASSERT_TRUE(all.size() == 3);
  EXPECT_EQ(Values<int32_t>(all[0].data(), all[0].size()), (Numbers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(Values<float>(all[1].data(), all[1].size()), (Floats{8}));
  EXPECT_EQ(all[2].size(), size_t{0});
}

TEST(Plan, ResultsThatAreArgumentsOrConstantsAreCopies) {
  Builder b({F32({2})});
  Value* one = b.Constant(MakeLiteral<float>(F32({2}), {7}));
  b.Return({b.argument(0), b.argument(0), one});
  Harness run;
  std::vector<Data> all = run.All(b.module(), {Bytes<float>({1, 2})});
  ASSERT_TRUE(all.size() == 3);
  EXPECT_EQ(Values<float>(all[0].data(), 8), (Floats{1, 2}));
  EXPECT_EQ(Values<float>(all[1].data(), 8), (Floats{1, 2}));
  EXPECT_EQ(Values<float>(all[2].data(), 8), (Floats{7, 7}));
}

TEST(Plan, ReduceInnerOuterAndMiddle) {
  Data x(24 * sizeof(float));
  for (int i = 0; i < 24; ++i) reinterpret_cast<float*>(x.data())[i] = float(i);
  auto sum = [&](Ints dims, Type result) {
    Builder b({F32({2, 3, 4})});
    Value* zero = b.Constant(MakeLiteral<float>(F32({}), {0}));
    Op* op = b.AddOp(OpCode::kReduce, {b.argument(0), zero}, {std::move(result)},
                     {{"dimensions", {std::move(dims)}}});
    AddBody(b, op, OpCode::kAdd, F32({}));
    b.Return({op->result()});
    return Harness().One<float>(b.module(), {x});
  };
  EXPECT_EQ(sum({2}, F32({2, 3})), (Floats{6, 22, 38, 54, 70, 86}));
  EXPECT_EQ(sum({0}, F32({3, 4})), (Floats{12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34}));
  EXPECT_EQ(sum({1}, F32({2, 4})), (Floats{12, 15, 18, 21, 48, 51, 54, 57}));
  EXPECT_EQ(sum({0, 2}, F32({3})), (Floats{60, 92, 124}));
  EXPECT_EQ(sum({0, 1, 2}, F32({})), (Floats{276}));
  EXPECT_EQ(sum({}, F32({2, 3, 4})), Values<float>(x.data(), x.size()));
}

TEST(Plan, VariadicReduceFindsTheFirstLargest) {
  // argmax: larger value wins, of equal ones the lower index.
  const int n = 5000;
  Builder b({F32({n})});
  Value* index = b.Add(OpCode::kIota, {}, I32({n}), {{"iota_dimension", {int64_t{0}}}});
  Value* low = b.Constant(MakeLiteral<float>(F32({}), {-1e30f}));
  Value* zero = b.Constant(MakeLiteral<int32_t>(I32({}), {0}));
  Op* op = b.AddOp(OpCode::kReduce, {b.argument(0), index, low, zero}, {F32({}), I32({})},
                   {{"dimensions", {Ints{0}}}});
  b.BeginRegion(op, {F32({}), I32({}), F32({}), I32({})});
  auto argument = [&](size_t i) { return op->regions[0]->arguments[i].get(); };
  auto compare = [&](Value* x, Value* y, program::ComparisonDirection direction) {
    return b.Add(OpCode::kCompare, {x, y}, Bool({}),
                 {{"compare_type", {int64_t{0}}}, {"comparison_direction", {int64_t(direction)}}});
  };
  Value* larger = compare(argument(0), argument(2), program::ComparisonDirection::kGt);
  Value* equal = compare(argument(0), argument(2), program::ComparisonDirection::kEq);
  Value* before = compare(argument(1), argument(3), program::ComparisonDirection::kLt);
  Value* tie = b.Add(OpCode::kAnd, {equal, before}, Bool({}));
  Value* keep = b.Add(OpCode::kOr, {larger, tie}, Bool({}));
  Value* value = b.Add(OpCode::kSelect, {larger, argument(0), argument(2)}, F32({}));
  Value* place = b.Add(OpCode::kSelect, {keep, argument(1), argument(3)}, I32({}));
  b.Return({value, place});
  b.Return({op->result(0), op->result(1)});
  std::vector<float> x(n, 1.0f);
  x[3777] = x[4001] = 9;
  std::vector<Data> all = Harness().All(b.module(), {Bytes(x)});
  ASSERT_TRUE(all.size() == 2);
  EXPECT_EQ(Values<float>(all[0].data(), 4), (Floats{9}));
  EXPECT_EQ(Values<int32_t>(all[1].data(), 4), (Numbers{3777}));
}

TEST(Plan, DotOfTransposedOperands) {
  Builder b({F32({3, 2}), F32({4, 3})});
  AttributeList attributes = {{"lhs_batching_dimensions", {Ints{}}},
                              {"rhs_batching_dimensions", {Ints{}}},
                              {"lhs_contracting_dimensions", {Ints{0}}},
                              {"rhs_contracting_dimensions", {Ints{1}}}};
  b.Return({b.Add(OpCode::kDotGeneral, {b.argument(0), b.argument(1)}, F32({2, 4}), attributes)});
  EXPECT_EQ(Harness().One<float>(b.module(), {Bytes<float>({1, 2, 3, 4, 5, 6}),
                                              Bytes<float>({1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1})}),
            (Floats{1, 3, 5, 9, 2, 4, 6, 12}));
}

// The sum is converted, not the operands.
TEST(Plan, DotComputesInTheWiderKind) {
  const AttributeList attributes = {{"lhs_batching_dimensions", {Ints{}}},
                                    {"rhs_batching_dimensions", {Ints{}}},
                                    {"lhs_contracting_dimensions", {Ints{0}}},
                                    {"rhs_contracting_dimensions", {Ints{0}}}};
  auto dot = [&](DType operand, DType result) {
    auto b = std::make_unique<Builder>(
        std::vector<Type>{Type::Tensor(operand, {2}), Type::Tensor(operand, {2})});
    b->Return({b->Add(OpCode::kDotGeneral, {b->argument(0), b->argument(1)},
                      Type::Tensor(result, {}), attributes)});
    return b;
  };
  EXPECT_EQ(Harness().One<int32_t>(dot(DType::kF32, DType::kS32)->module(),
                                   {Bytes<float>({1.5, 2.5}), Bytes<float>({2, 2})}),
            (Numbers{8}));
  EXPECT_EQ(Harness().One<float>(dot(DType::kC64, DType::kF32)->module(),
                                 {Bytes<float>({1, 2, 0, 0}), Bytes<float>({3, 4, 0, 0})}),
            (Floats{-5}));
  // Products of integers that only the result's type holds.
  EXPECT_EQ(Harness().One<int32_t>(dot(DType::kS8, DType::kS32)->module(),
                                   {Bytes<int8_t>({100, 100}), Bytes<int8_t>({100, -50})}),
            (Numbers{5000}));
  EXPECT_EQ(Harness().One<float>(dot(DType::kS32, DType::kF32)->module(),
                                 {Bytes<int32_t>({1 << 20, 1}), Bytes<int32_t>({1 << 20, 1})}),
            (Floats{1099511627776.0f + 1.0f}));
}

// (a, b) -> (b, a + 1), n times: the two carried values change places, so neither may be made in
// place.
TEST(Plan, LoopThatSwapsWhatItCarries) {
  Builder b({F32({2}), F32({2})});
  Value* start = b.Constant(MakeLiteral<int32_t>(I32({}), {0}));
  Value* one = b.Constant(MakeLiteral<int32_t>(I32({}), {1}));
  Value* limit = b.Constant(MakeLiteral<int32_t>(I32({}), {3}));
  Value* step = b.Constant(MakeLiteral<float>(F32({2}), {1}));
  std::vector<Type> types = {I32({}), F32({2}), F32({2})};
  Op* loop = b.AddOp(OpCode::kWhile, {start, b.argument(0), b.argument(1)}, types);
  b.BeginRegion(loop, types);
  b.Return({b.Add(OpCode::kCompare, {loop->regions[0]->arguments[0].get(), limit}, Bool({}),
                  {{"compare_type", {int64_t{0}}},
                   {"comparison_direction", {int64_t(program::ComparisonDirection::kLt)}}})});
  b.BeginRegion(loop, types);
  auto& args = loop->regions[1]->arguments;
  Value* next = b.Add(OpCode::kAdd, {args[0].get(), one}, I32({}));
  Value* more = b.Add(OpCode::kAdd, {args[1].get(), step}, F32({2}));
  b.Return({next, args[2].get(), more});
  b.Return({loop->result(1), loop->result(2)});
  std::vector<Data> all = Harness().All(b.module(), {Bytes<float>({0, 1}), Bytes<float>({10, 11})});
  ASSERT_TRUE(all.size() == 2);
  EXPECT_EQ(Values<float>(all[0].data(), 8), (Floats{11, 12}));
  EXPECT_EQ(Values<float>(all[1].data(), 8), (Floats{2, 3}));
}

TEST(Plan, CaseOutOfRangeTakesTheLastBranch) {
  Builder b({I32({}), F32({2})});
  Op* op = b.AddOp(OpCode::kCase, {b.argument(0)}, {F32({2})});
  for (OpCode code : {OpCode::kNegate, OpCode::kAbs, OpCode::kFloor}) {
    b.BeginRegion(op, {});
    b.Return({b.Add(code, {b.function().body.arguments[1].get()}, F32({2}))});
  }
  b.Return({op->result()});
  Harness run;
  auto branch = [&](int32_t i) {
    return run.One<float>(b.module(), {Bytes<int32_t>({i}), Bytes<float>({-1.5f, 2.5f})});
  };
  EXPECT_EQ(branch(0), (Floats{1.5f, -2.5f}));
  EXPECT_EQ(branch(1), (Floats{1.5f, 2.5f}));
  EXPECT_EQ(branch(2), (Floats{-2, 2}));
  EXPECT_EQ(branch(7), (Floats{-2, 2}));
  EXPECT_EQ(branch(-1), (Floats{-2, 2}));
}

TEST(Plan, ScatterDropsWhatIsOutside) {
  Builder b({F32({4}), I32({3, 1}), F32({3})});
  Op* op = b.AddOp(OpCode::kScatter, {b.argument(0), b.argument(1), b.argument(2)}, {F32({4})},
                   {{"index_vector_dim", {int64_t{1}}},
                    {"input_batching_dims", {Ints{}}},
                    {"inserted_window_dims", {Ints{0}}},
                    {"scatter_dims_to_operand_dims", {Ints{0}}},
                    {"scatter_indices_batching_dims", {Ints{}}},
                    {"update_window_dims", {Ints{}}}});
  AddBody(b, op, OpCode::kAdd, F32({}));
  b.Return({op->result()});
  EXPECT_EQ(Harness().One<float>(b.module(), {Bytes<float>({0, 0, 0, 0}), Bytes<int32_t>({1, 9, 1}),
                                              Bytes<float>({1, 2, 4})}),
            (Floats{0, 5, 0, 0}));
}

TEST(Plan, PadsWithNegativeEdgesAndGaps) {
  Builder b({F32({4}), F32({})});
  b.Return({b.Add(OpCode::kPad, {b.argument(0), b.argument(1)}, F32({7}),
                  {{"edge_padding_low", {Ints{-1}}},
                   {"edge_padding_high", {Ints{1}}},
                   {"interior_padding", {Ints{1}}}})});
  EXPECT_EQ(Harness().One<float>(b.module(), {Bytes<float>({1, 2, 3, 4}), Bytes<float>({9})}),
            (Floats{9, 2, 9, 3, 9, 4, 9}));
}

// Each array has its own width, whatever the first one's is.
TEST(Plan, SortsArraysOfDifferentWidthsAlongAnyDimension) {
  for (int64_t axis : {0, 1}) {
    const Type wide = Type::Tensor(backend::DType::kS64, {3, 3});
    const Type byte = Type::Tensor(backend::DType::kS8, {3, 3});
    Builder b({byte, wide, F32({3, 3})});
    Op* op = b.AddOp(OpCode::kSort, {b.argument(0), b.argument(1), b.argument(2)},
                     {byte, wide, F32({3, 3})}, {{"dimension", {axis}}, {"is_stable", {true}}});
    const Type one = Type::Tensor(backend::DType::kS8, {});
    const Type other = Type::Tensor(backend::DType::kS64, {});
    b.BeginRegion(op, {one, one, other, other, F32({}), F32({})});
    b.Return({b.Add(OpCode::kCompare, {b.argument(0), b.argument(1)}, Bool({}),
                    {{"comparison_direction", {int64_t(program::ComparisonDirection::kLt)}},
                     {"compare_type", {int64_t(program::ComparisonType::kSigned)}}})});
    b.Return({op->result(0), op->result(1), op->result(2)});
    Harness run;
    const std::vector<Data> results =
        run.All(b.module(), {Bytes<int8_t>({3, 2, 1, 1, 3, 2, 2, 1, 3}),
                             Bytes<int64_t>({0, 1, 2, 3, 4, 5, 6, 7, int64_t{1} << 40}),
                             Bytes<float>({0, 1, 2, 3, 4, 5, 6, 7, 8})});
    EXPECT_EQ(results.size(), size_t{3});
    if (results.size() != 3) return;
    const std::vector<int64_t> order = axis == 0 ? std::vector<int64_t>{3, 7, 2, 6, 1, 5, 0, 4, 8}
                                                 : std::vector<int64_t>{2, 1, 0, 3, 5, 4, 7, 6, 8};
    std::vector<int64_t> wanted = order;
    wanted.back() = int64_t{1} << 40;
    EXPECT_TRUE(results[1] == Bytes(wanted));
    EXPECT_TRUE(results[2] == Bytes(std::vector<float>(order.begin(), order.end())));
  }
}

// To a bf16's range and precision, and to those of a float with 3 bits of each.
TEST(Plan, ReducesPrecision) {
  auto reduced = [](int64_t exponent, int64_t mantissa, const Floats& x) {
    Builder b({F32({int64_t(x.size())})});
    b.Return({b.Add(OpCode::kReducePrecision, {b.argument(0)}, F32({int64_t(x.size())}),
                    {{"exponent_bits", {exponent}}, {"mantissa_bits", {mantissa}}})});
    return Harness().One<float>(b.module(), {Bytes(x)});
  };
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(reduced(8, 7, {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, -1 - 0x1.1p-8f, 3e38f, 1e-40f, inf}),
            (Floats{1, 1 + 0x1p-6f, -1 - 0x1p-7f, 0x1.c4p127f, 0x1p-133f, inf}));
  EXPECT_EQ(reduced(3, 3, {15, 15.5f, -16, 0.25f, -0.25f * 0.99f, 0.1f, 0, -inf}),
            (Floats{15, inf, -inf, 0.25f, -0.25f, 0, 0, -inf}));
  EXPECT_EQ(reduced(8, 23, {1.1f, 1e-45f}), (Floats{1.1f, 1e-45f}));
  EXPECT_TRUE(std::isnan(reduced(5, 2, {std::nanf("")})[0]));
}

TEST(Plan, UnknownOperationIsRefusedByName) {
  Builder b({F32({2})});
  b.Return({b.Add(OpCode::kInfeed, {b.argument(0)}, F32({2}))});
  Status status = Harness().Compile(b.module()).status();
  EXPECT_TRUE(status.code() == backend::Code::kUnimplemented);
  EXPECT_CONTAINS(status.message(), "infeed");
  EXPECT_CONTAINS(status.message(), "tensor<2xf32>");
  EXPECT_CONTAINS(status.message(), "model.py:7");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
