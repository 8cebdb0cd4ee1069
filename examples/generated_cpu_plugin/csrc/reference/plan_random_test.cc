// rng_bit_generator, against the numbers that XLA's CPU gives.

#include <array>
#include <cstdint>
#include <vector>

#include "program/op_table.h"
#include "reference/random_bits.h"
#include "reference/testing_run.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::Builder;
using program::OpCode;
using program::RngAlgorithm;

using Words = std::vector<uint32_t>;
using LongWords = std::vector<uint64_t>;

constexpr uint64_t kKey = 0x0123456789abcdef;

struct Bits {
  LongWords state;
  Data output;
};
// The counter is two blocks before its end.
Bits Generate(RngAlgorithm algorithm, Type type, LongWords state = {kKey, ~uint64_t{1}}) {
  const Type state_type = Type::Tensor(DType::kU64, {int64_t(state.size())});
  Builder b({state_type});
  Op* op = b.AddOp(OpCode::kRngBitGenerator, {b.argument(0)}, {state_type, std::move(type)},
                   {{"rng_algorithm", {int64_t(algorithm)}}});
  b.Return({op->result(0), op->result(1)});
  std::vector<Data> all = Harness().All(b.module(), {Bytes(state)});
  if (all.size() != 2) return {};
  return {Values<uint64_t>(all[0].data(), all[0].size()), all[1]};
}
template <typename T>
std::vector<T> As(const Data& data) {
  return Values<T>(data.data(), data.size());
}
Type U32(Dims dims) { return Type::Tensor(DType::kU32, std::move(dims)); }

TEST(Random, ThreeFryPairsNeighboursOfOneDimension) {
  Bits even = Generate(RngAlgorithm::kThreeFry, U32({2, 3}));
  EXPECT_EQ(even.state, (LongWords{kKey, 1}));
  EXPECT_EQ(As<uint32_t>(even.output),
            (Words{0xb0f4215b, 0x0b3d7494, 0xaaa4d889, 0xe19a60b4, 0xacf8c4dc, 0x6b35c4f4}));
  Bits odd = Generate(RngAlgorithm::kThreeFry, U32({3, 5}));
  EXPECT_EQ(odd.state, (LongWords{kKey, 7}));
  EXPECT_EQ(As<uint32_t>(odd.output),
            (Words{0xb0f4215b, 0xe19a60b4, 0x0b3d7494, 0xacf8c4dc, 0xaaa4d889, 0x75a52907,
                   0xd3dd8613, 0x35d0e5f1, 0x8ed17fe4, 0x7c2f19d8, 0xde79bbbd, 0x1713fd18,
                   0xb09d029e, 0x7d84f441, 0x6ca3e732}));
  Bits scalar = Generate(RngAlgorithm::kThreeFry, U32({}));
  EXPECT_EQ(scalar.state, (LongWords{kKey, ~uint64_t{0}}));
  EXPECT_EQ(As<uint32_t>(scalar.output), (Words{0xb0f4215b}));
}

TEST(Random, ThreeFryOfOtherWidths) {
  EXPECT_EQ(As<uint64_t>(Generate(RngAlgorithm::kThreeFry, Type::Tensor(DType::kU64, {3})).output),
            (LongWords{0xe19a60b4b0f4215b, 0xacf8c4dc0b3d7494, 0x6b35c4f4aaa4d889}));
  EXPECT_EQ(As<uint16_t>(Generate(RngAlgorithm::kThreeFry, Type::Tensor(DType::kU16, {5})).output),
            (std::vector<uint16_t>{0x215b, 0x60b4, 0x7494, 0xc4dc, 0xd889}));
}

TEST(Random, PhiloxIsTheDefault) {
  for (RngAlgorithm algorithm : {RngAlgorithm::kPhilox, RngAlgorithm::kDefault}) {
    Bits bits = Generate(algorithm, U32({3, 3}));
    EXPECT_EQ(bits.state, (LongWords{kKey, 1}));
    EXPECT_EQ(As<uint32_t>(bits.output),
              (Words{0x0a485194, 0x41c5f806, 0xd6822fee, 0x3885a3d4, 0x41eb59f3, 0x307385e0,
                     0x5b8b3389, 0xa262f67c, 0x7006d264}));
  }
  EXPECT_EQ(As<uint64_t>(Generate(RngAlgorithm::kPhilox, Type::Tensor(DType::kU64, {3})).output),
            (LongWords{0x41c5f8060a485194, 0x3885a3d4d6822fee, 0x307385e041eb59f3}));
  EXPECT_EQ(As<uint16_t>(Generate(RngAlgorithm::kPhilox, Type::Tensor(DType::kU16, {5})).output),
            (std::vector<uint16_t>{0x5194, 0xf806, 0x2fee, 0xa3d4, 0x59f3}));
}

// The counter of three words carries into the last one.
TEST(Random, PhiloxWithAStateOfThreeWords) {
  Bits bits = Generate(RngAlgorithm::kPhilox, U32({12}), {kKey, ~uint64_t{1}, 7});
  EXPECT_EQ(bits.state, (LongWords{kKey, 1, 8}));
  std::array<uint32_t, 4> third = Philox4x32(kKey, 0, 8);
  EXPECT_EQ(Words(As<uint32_t>(bits.output)).at(8), third[0]);
}

TEST(Random, NoElementsAndWrongStates) {
  Bits none = Generate(RngAlgorithm::kThreeFry, U32({3, 0}));
  EXPECT_EQ(none.state, (LongWords{kKey, ~uint64_t{1}}));
  EXPECT_TRUE(none.output.empty());
  const Type state = Type::Tensor(DType::kU64, {3});
  Builder b({state});
  Op* op = b.AddOp(OpCode::kRngBitGenerator, {b.argument(0)}, {state, U32({2})},
                   {{"rng_algorithm", {int64_t(RngAlgorithm::kThreeFry)}}});
  b.Return({op->result(0), op->result(1)});
  EXPECT_CONTAINS(Harness().Compile(b.module()).status().message(), "the state is a vector of two");
}

// The known answers that the algorithms' authors publish for keys and counters of zeros and ones.
TEST(Random, KnownAnswers) {
  EXPECT_TRUE((ThreeFry2x32(0, 0) == std::array<uint32_t, 2>{0x6b200159, 0x99ba4efe}));
  EXPECT_TRUE((Philox4x32(0, 0, 0) ==
               std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
