// Operations that few programs have: map, rng, batch normalisation, conversions of bits between
// widths.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "program/op_table.h"
#include "program/passes.h"
#include "reference/testing_run.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::Builder;
using program::F32;
using program::Ints;
using program::MakeLiteral;
using program::OpCode;
using program::RngDistribution;
using Floats = std::vector<float>;

TEST(Map, AppliesItsBodyToEachElement) {
  Builder b({F32({2, 2}), F32({2, 2}), F32({})});
  Value* outside = b.argument(2);
  Op* op = b.AddOp(OpCode::kMap, {b.argument(0), b.argument(1)}, {F32({2, 2})},
                   {{"dimensions", {Ints{0, 1}}}});
  b.BeginRegion(op, {F32({}), F32({})});
  Value* product = b.Add(OpCode::kMultiply, {b.argument(0), b.argument(1)}, F32({}));
  b.Return({b.Add(OpCode::kAdd, {product, outside}, F32({}))});
  b.Return({op->result()});
  EXPECT_EQ(Harness().One<float>(b.module(), {Bytes<float>({1, 2, 3, 4}),
                                              Bytes<float>({5, 6, 7, 8}), Bytes<float>({100})}),
            (Floats{105, 112, 121, 132}));
}

template <typename T>
std::vector<T> Rng(DType dtype, RngDistribution distribution, T a, T b_value, int64_t count) {
  const Type scalar = Type::Tensor(dtype, {});
  Builder b({scalar, scalar});
  Value* shape = b.Constant(MakeLiteral<int64_t>(Type::Tensor(DType::kS64, {1}), {count}));
  b.Return({b.Add(OpCode::kRng, {b.argument(0), b.argument(1), shape}, Type::Tensor(dtype, {count}),
                  {{"rng_distribution", {int64_t(distribution)}}})});
  return Harness().One<T>(b.module(), {Bytes<T>({a}), Bytes<T>({b_value})});
}

TEST(Rng, Uniform) {
  const Floats floats = Rng<float>(DType::kF32, RngDistribution::kUniform, -2, 6, 20000);
  const auto [low, high] = std::minmax_element(floats.begin(), floats.end());
  EXPECT_TRUE(*low >= -2 && *low < -1.9f && *high < 6 && *high > 5.9f);
  EXPECT_NEAR(std::accumulate(floats.begin(), floats.end(), 0.0) / 20000, 2.0, 0.1);
  std::vector<int8_t> bytes = Rng<int8_t>(DType::kS8, RngDistribution::kUniform, -3, 4, 1000);
  std::sort(bytes.begin(), bytes.end());
  bytes.erase(std::unique(bytes.begin(), bytes.end()), bytes.end());
  EXPECT_EQ(bytes, (std::vector<int8_t>{-3, -2, -1, 0, 1, 2, 3}));
}

TEST(Rng, NormalAndNeverTheSameTwice) {
  const Floats floats = Rng<float>(DType::kF32, RngDistribution::kNormal, 10, 2, 20000);
  const double mean = std::accumulate(floats.begin(), floats.end(), 0.0) / 20000;
  double square = 0;
  for (float x : floats) square += (x - mean) * (x - mean);
  EXPECT_NEAR(mean, 10, 0.1);
  EXPECT_NEAR(std::sqrt(square / 20000), 2, 0.1);
  Builder b({F32({}), F32({})});
  Value* shape = b.Constant(MakeLiteral<int64_t>(Type::Tensor(DType::kS64, {1}), {4}));
  auto add = [&] {
    return b.Add(OpCode::kRng, {b.argument(0), b.argument(1), shape}, F32({4}),
                 {{"rng_distribution", {int64_t(RngDistribution::kUniform)}}});
  };
  Value* first = add();
  b.Return({first, add()});
  Harness run;
  auto executable = run.Compile(b.module());
  ASSERT_TRUE(executable.ok());
  std::vector<Floats> seen;
  for (int i = 0; i < 2; ++i) {
    auto results = run.Launch(
        **executable, {{{run.Put(Bytes<float>({0})), false}, {run.Put(Bytes<float>({1})), false}}});
    ASSERT_TRUE(results.ok() && (*results)[0].done.Await().ok());
    for (const auto& block : (*results)[0].outputs)
      seen.push_back(Values<float>(block->address(), block->bytes()));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_TRUE(std::unique(seen.begin(), seen.end()) == seen.end());
}

template <typename From, typename To>
std::vector<To> Bits(DType from, Dims from_dims, const std::vector<From>& in, DType to,
                     Dims to_dims) {
  Builder b({Type::Tensor(from, std::move(from_dims))});
  b.Return({b.Add(OpCode::kBitcastConvert, {b.argument(0)}, Type::Tensor(to, std::move(to_dims)))});
  return Harness().One<To>(b.module(), {Bytes(in)});
}

TEST(BitcastConvert, BetweenWidths) {
  EXPECT_EQ((Bits<uint32_t, uint8_t>(DType::kU32, {1}, {0x04030201}, DType::kU8, {1, 4})),
            (std::vector<uint8_t>{1, 2, 3, 4}));
  EXPECT_EQ((Bits<uint8_t, uint8_t>(DType::kU8, {2}, {0x21, 0xf8}, DType::kU4, {2, 2})),
            (std::vector<uint8_t>{1, 2, 8, 15}));
  EXPECT_EQ((Bits<uint8_t, int8_t>(DType::kU8, {2}, {0x21, 0xf8}, DType::kS4, {2, 2})),
            (std::vector<int8_t>{1, 2, -8, -1}));
  EXPECT_EQ(
      (Bits<int8_t, uint16_t>(DType::kS4, {2, 4}, {1, 2, 3, 4, -8, -1, 0, 7}, DType::kU16, {2})),
      (std::vector<uint16_t>{0x4321, 0x70f8}));
  EXPECT_EQ((Bits<uint8_t, int8_t>(DType::kU2, {1, 2}, {2, 3}, DType::kS4, {1})),
            (std::vector<int8_t>{-2}));
  EXPECT_TRUE((Bits<uint8_t, uint16_t>(DType::kU4, {0, 4}, {}, DType::kU16, {0})).empty());
}

// A part of an array may begin where no element of the wider type could.
TEST(BitcastConvert, OfAPartOfAnArray) {
  const Type bytes = Type::Tensor(DType::kU8, {9});
  Builder b({bytes});
  Value* part =
      b.Add(OpCode::kSlice, {b.argument(0)}, Type::Tensor(DType::kU8, {4}),
            {{"limit_indices", {Ints{7}}}, {"start_indices", {Ints{3}}}, {"strides", {Ints{1}}}});
  b.Return({b.Add(OpCode::kBitcastConvert, {part}, Type::Tensor(DType::kU32, {}))});
  EXPECT_EQ(Harness().One<uint32_t>(b.module(), {Bytes<uint8_t>({0, 1, 2, 3, 4, 5, 6, 7, 8})}),
            (std::vector<uint32_t>{0x06050403}));
}

// Two features of three elements each, epsilon 0.5.
TEST(BatchNorm, ByItsDefinition) {
  const Type whole = F32({3, 2}), features = F32({2});
  const program::AttributeList attributes = {{"epsilon", {0.5}}, {"feature_index", {int64_t{1}}}};
  const Data x = Bytes<float>({1, 10, 2, 30, 6, 20}), scale = Bytes<float>({2, 3});
  const Data offset = Bytes<float>({5, -5}), gradient = Bytes<float>({1, 0, 0, 2, 1, 1});
  const double mean[] = {3, 20}, variance[] = {14.0 / 3, 200.0 / 3};

  Builder training({whole, features, features});
  Op* op = training.AddOp(OpCode::kBatchNormTraining,
                          {training.argument(0), training.argument(1), training.argument(2)},
                          {whole, features, features}, attributes);
  training.Return({op->result(0), op->result(1), op->result(2)});
  ASSERT_TRUE(program::RunPasses(training.module()).ok());
  const std::vector<Data> made = Harness().All(training.module(), {x, scale, offset});
  ASSERT_EQ(made.size(), size_t{3});
  const Floats normal = Values<float>(made[0].data(), made[0].size());
  EXPECT_NEAR(normal[0], 2 * (1 - mean[0]) / std::sqrt(variance[0] + 0.5) + 5, 1e-5);
  EXPECT_NEAR(normal[3], 3 * (30 - mean[1]) / std::sqrt(variance[1] + 0.5) - 5, 1e-5);
  EXPECT_EQ(Values<float>(made[1].data(), made[1].size()), (Floats{3, 20}));
  EXPECT_NEAR(Values<float>(made[2].data(), made[2].size())[1], variance[1], 1e-4);

  Builder inference({whole, features, features, features, features});
  std::vector<Value*> operands;
  for (size_t i = 0; i < 5; ++i) operands.push_back(inference.argument(i));
  inference.Return({inference.Add(OpCode::kBatchNormInference, operands, whole, attributes)});
  ASSERT_TRUE(program::RunPasses(inference.module()).ok());
  const Floats again =
      Harness().One<float>(inference.module(), {x, scale, offset, made[1], made[2]});
  ASSERT_EQ(again.size(), normal.size());
  for (size_t i = 0; i < again.size(); ++i) EXPECT_NEAR(again[i], normal[i], 1e-4);

  Builder grad({whole, features, features, features, whole});
  operands.clear();
  for (size_t i = 0; i < 5; ++i) operands.push_back(grad.argument(i));
  op = grad.AddOp(OpCode::kBatchNormGrad, operands, {whole, features, features}, attributes);
  grad.Return({op->result(0), op->result(1), op->result(2)});
  ASSERT_TRUE(program::RunPasses(grad.module()).ok());
  const std::vector<Data> back =
      Harness().All(grad.module(), {x, scale, made[1], made[2], gradient});
  ASSERT_EQ(back.size(), size_t{3});
  // Of the first feature: gradients 1, 0, 1 of elements -2, -1, 3 off the mean.
  const double product = 1.0, deviation = std::sqrt(variance[0] + 0.5);
  EXPECT_NEAR(Values<float>(back[0].data(), back[0].size())[0],
              2 / deviation * (1 - 2.0 / 3 + 2 * product / 3 / (deviation * deviation)), 1e-5);
  EXPECT_NEAR(Values<float>(back[1].data(), back[1].size())[0], product / deviation, 1e-5);
  EXPECT_EQ(Values<float>(back[2].data(), back[2].size()), (Floats{2, 3}));
}

// Devices 1 and 2 are given what device 2 has; the others are in no group.
TEST(CollectiveBroadcast, FromTheFirstOfEachGroup) {
  Builder b({F32({2})});
  std::vector<program::Attribute> groups = {{Ints{2, 1}}};
  b.Return({b.Add(OpCode::kCollectiveBroadcast, {b.argument(0)}, F32({2}),
                  {{"channel_id", {int64_t{0}}}, {"replica_groups", {groups}}})});
  b.module().num_replicas = 4;
  Harness run;
  auto executable = run.Compile(b.module(), {.num_replicas = 4, .num_partitions = 1});
  ASSERT_TRUE(executable.ok());
  std::vector<std::vector<backend::Argument>> arguments;
  for (size_t i = 0; i < 4; ++i)
    arguments.push_back({{run.Put(Bytes<float>({float(i), float(i) + 10}), i), false}});
  auto results = run.Launch(**executable, arguments);
  ASSERT_TRUE(results.ok());
  const Floats wanted[] = {{0, 0}, {2, 12}, {2, 12}, {0, 0}};
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE((*results)[i].done.Await().ok());
    const auto& block = *(*results)[i].outputs[0];
    EXPECT_EQ(Values<float>(block.address(), block.bytes()), wanted[i]);
  }
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
