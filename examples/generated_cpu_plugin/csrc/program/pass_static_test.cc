#include "program/pass_static.h"

#include <string>

#include "program/passes.h"
#include "program/testing_builder.h"
#include "program/verify.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

Value* Vector(Builder& b, std::vector<int32_t> values) {
  const Type type = I32({int64_t(values.size())});
  return b.Constant(MakeLiteral<int32_t>(type, std::move(values)));
}

// The op that main returns, after the passes.
const Op& Made(Builder& b, Value* returned) {
  b.Return({returned});
  EXPECT_EQ(std::string(Verify(b.module()).message()), "");
  EXPECT_EQ(std::string(RunPasses(b.module()).message()), "");
  EXPECT_EQ(std::string(Verify(b.module()).message()), "");
  return *b.module().main()->body.terminator()->operands[0]->op;
}

TEST(StaticPass, ShapesThatTheResultRepeats) {
  Builder broadcast({F32({3}), I32({2})});
  const Op& one =
      Made(broadcast, broadcast.Add(OpCode::kDynamicBroadcastInDim,
                                    {broadcast.argument(0), broadcast.argument(1)}, F32({2, 3}),
                                    {{"broadcast_dimensions", {Ints{1}}},
                                     {"known_expanding_dimensions", {Ints{}}},
                                     {"known_nonexpanding_dimensions", {Ints{0}}}}));
  EXPECT_EQ(std::string(OpName(one.code)), "broadcast_in_dim");
  EXPECT_EQ(one.IntList("broadcast_dimensions"), (Ints{1}));
  Builder reshape({F32({6}), I32({2})});
  EXPECT_EQ(Made(reshape, reshape.Add(OpCode::kDynamicReshape,
                                      {reshape.argument(0), reshape.argument(1)}, F32({2, 3})))
                .code,
            OpCode::kReshape);
  Builder iota({I32({1})});
  const Op& numbers = Made(iota, iota.Add(OpCode::kDynamicIota, {iota.argument(0)}, I32({5}),
                                          {{"iota_dimension", {int64_t{0}}}}));
  EXPECT_EQ(numbers.code, OpCode::kIota);
}

TEST(StaticPass, ConstantOperandsBecomeAttributes) {
  Builder pad({F32({3}), F32({})});
  const Op& padded = Made(pad, pad.Add(OpCode::kDynamicPad,
                                       {pad.argument(0), pad.argument(1), Vector(pad, {1}),
                                        Vector(pad, {2}), Vector(pad, {3})},
                                       F32({12})));
  EXPECT_EQ(padded.code, OpCode::kPad);
  EXPECT_EQ(padded.IntList("interior_padding"), (Ints{3}));
  Builder slice({F32({9})});
  const Op& cut = Made(slice, slice.Add(OpCode::kRealDynamicSlice,
                                        {slice.argument(0), Vector(slice, {1}), Vector(slice, {8}),
                                         Vector(slice, {3})},
                                        F32({3})));
  EXPECT_EQ(cut.code, OpCode::kSlice);
  EXPECT_EQ(cut.IntList("limit_indices"), (Ints{8}));
  Builder conv({F32({1, 1, 4}), F32({1, 1, 2})});
  Value* padding = conv.Constant(MakeLiteral<int32_t>(I32({1, 2}), {1, 0}));
  const Op& made =
      Made(conv, conv.Add(OpCode::kDynamicConv, {conv.argument(0), conv.argument(1), padding},
                          F32({1, 1, 4}),
                          {{"batch_group_count", {int64_t{1}}},
                           {"feature_group_count", {int64_t{1}}},
                           {"input_batch_dimension", {int64_t{0}}},
                           {"input_feature_dimension", {int64_t{1}}},
                           {"input_spatial_dimensions", {Ints{2}}},
                           {"kernel_input_feature_dimension", {int64_t{1}}},
                           {"kernel_output_feature_dimension", {int64_t{0}}},
                           {"kernel_spatial_dimensions", {Ints{2}}},
                           {"lhs_dilation", {Ints{1}}},
                           {"output_batch_dimension", {int64_t{0}}},
                           {"output_feature_dimension", {int64_t{1}}},
                           {"output_spatial_dimensions", {Ints{2}}},
                           {"precision_config", {Ints{}}},
                           {"rhs_dilation", {Ints{1}}},
                           {"window_reversal", {Ints{0}}},
                           {"window_strides", {Ints{1}}}}));
  EXPECT_EQ(made.code, OpCode::kConvolution);
  EXPECT_EQ(made.IntList("padding"), (Ints{1, 0}));
}

TEST(StaticPass, DimensionSizes) {
  Builder b({F32({2, 5})});
  Value* size =
      b.Add(OpCode::kGetDimensionSize, {b.argument(0)}, I32({}), {{"dimension", {int64_t{1}}}});
  Value* same = b.Add(OpCode::kSetDimensionSize, {b.argument(0), size}, F32({2, 5}),
                      {{"dimension", {int64_t{1}}}});
  b.Return({size, same});
  ASSERT_TRUE(RunPasses(b.module()).ok());
  const Op& end = *b.module().main()->body.terminator();
  EXPECT_EQ(end.operands[0]->op->Constant().IntAt(0), 5);
  EXPECT_EQ(end.operands[1], b.module().main()->body.arguments[0].get());
}

TEST(StaticPass, OlderOps) {
  Builder dot({F32({2, 3}), F32({3})});
  const Op& product = Made(dot, dot.Add(OpCode::kDot, {dot.argument(0), dot.argument(1)}, F32({2}),
                                        {{"precision_config", {Ints{}}}}));
  EXPECT_EQ(product.code, OpCode::kDotGeneral);
  EXPECT_EQ(product.IntList("lhs_contracting_dimensions"), (Ints{1}));
  Builder select({F32({2, 7, 3}), I32({2, 4})});
  const Op& gather = Made(
      select, select.Add(OpCode::kTorchIndexSelect, {select.argument(0), select.argument(1)},
                         F32({2, 4, 3}), {{"batch_dims", {int64_t{1}}}, {"dim", {int64_t{1}}}}));
  EXPECT_EQ(gather.code, OpCode::kGather);
  EXPECT_EQ(gather.IntList("offset_dims"), (Ints{2}));
  EXPECT_EQ(gather.IntList("slice_sizes"), (Ints{1, 1, 3}));
}

// A program from outside may say anything where nobody has looked yet.
TEST(StaticPass, WhatDoesNotFitIsRefused) {
  Builder b({F32({3}), I32({1})});
  b.Return({b.Add(OpCode::kDynamicReshape, {b.argument(0), b.argument(1)}, F32({4}))});
  ASSERT_TRUE(Verify(b.module()).ok());
  EXPECT_FALSE(RunPasses(b.module()).ok());
  Builder other({F32({3}), I32({1})});
  Value* unknown = other.Add(
      OpCode::kRealDynamicSlice,
      {other.argument(0), other.argument(1), Vector(other, {3}), Vector(other, {1})}, F32({2}));
  EXPECT_EQ(Made(other, unknown).code, OpCode::kRealDynamicSlice);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
