#include "program/float_bits.h"

#include <cmath>

#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::DType;

TEST(FloatBits, ReadsOneOfEveryType) {
  struct {
    DType dtype;
    uint64_t bits;
  } const ones[] = {
      {DType::kF64, 0x3ff0000000000000},
      {DType::kF32, 0x3f800000},
      {DType::kF16, 0x3c00},
      {DType::kBF16, 0x3f80},
      {DType::kF8E5M2, 0x3c},
      {DType::kF8E4M3, 0x38},
      {DType::kF8E4M3FN, 0x38},
      {DType::kF8E4M3FNUZ, 0x40},
      {DType::kF8E4M3B11FNUZ, 0x58},
      {DType::kF8E5M2FNUZ, 0x40},
      {DType::kF8E3M4, 0x30},
      {DType::kF8E8M0FNU, 127},
      {DType::kF4E2M1FN, 0x2},
      {DType::kF6E2M3FN, 0x8},
      {DType::kF6E3M2FN, 0xc},
  };
  for (const auto& one : ones) EXPECT_EQ(FloatFromBits(one.dtype, one.bits), 1.0);
}

TEST(FloatBits, ReadsSubnormalsAndSigns) {
  EXPECT_EQ(FloatFromBits(DType::kF16, 0x8001), -std::ldexp(1.0, -24));
  EXPECT_EQ(FloatFromBits(DType::kF8E4M3FN, 0x01), std::ldexp(1.0, -9));
  EXPECT_EQ(FloatFromBits(DType::kF4E2M1FN, 0xf), -6.0);
  EXPECT_TRUE(std::signbit(FloatFromBits(DType::kBF16, 0x8000)));
}

TEST(FloatBits, KnowsInfinitiesAndNans) {
  EXPECT_EQ(FloatFromBits(DType::kF16, 0xfc00), -INFINITY);
  EXPECT_TRUE(std::isnan(FloatFromBits(DType::kF16, 0x7e00)));
  EXPECT_EQ(FloatFromBits(DType::kF8E4M3, 0x78), INFINITY);
  EXPECT_EQ(FloatFromBits(DType::kF8E4M3FN, 0x7e), 448.0);  // no infinity: one more number
  EXPECT_TRUE(std::isnan(FloatFromBits(DType::kF8E4M3FN, 0x7f)));
  EXPECT_TRUE(std::isnan(FloatFromBits(DType::kF8E4M3FNUZ, 0x80)));  // no -0: it is the NaN
  EXPECT_TRUE(std::isnan(FloatFromBits(DType::kF8E8M0FNU, 0xff)));
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
