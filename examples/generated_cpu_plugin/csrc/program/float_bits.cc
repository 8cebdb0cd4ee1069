#include "program/float_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::DType;

// What the largest exponent, or one special pattern, means.
enum class Specials {
  kIeee,        // largest exponent: infinity, or NaN
  kNan,         // all ones: NaN, no infinity ("FN")
  kNegZeroNan,  // the pattern of -0 is the only NaN ("FNUZ")
  kNone,
};

struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF4E2M1FN:
      return {2, 1, 1, Specials::kNone};
    case DType::kF6E2M3FN:
      return {2, 3, 1, Specials::kNone};
    case DType::kF6E3M2FN:
      return {3, 2, 3, Specials::kNone};
    case DType::kF8E3M4:
      return {3, 4, 3, Specials::kIeee};
    case DType::kF8E4M3:
      return {4, 3, 7, Specials::kIeee};
    case DType::kF8E4M3FN:
      return {4, 3, 7, Specials::kNan};
    case DType::kF8E4M3FNUZ:
      return {4, 3, 8, Specials::kNegZeroNan};
    case DType::kF8E4M3B11FNUZ:
      return {4, 3, 11, Specials::kNegZeroNan};
    case DType::kF8E5M2:
      return {5, 2, 15, Specials::kIeee};
    case DType::kF8E5M2FNUZ:
      return {5, 2, 16, Specials::kNegZeroNan};
    case DType::kBF16:
      return {8, 7, 127, Specials::kIeee};
    default:
      return {5, 10, 15, Specials::kIeee};  // kF16
  }
}

}  // namespace

double FloatFromBits(DType dtype, uint64_t bits) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (dtype == DType::kF64) return std::bit_cast<double>(bits);
  if (dtype == DType::kF32) return std::bit_cast<float>(uint32_t(bits));
  if (dtype == DType::kF8E8M0FNU) {
    const int exponent = int(bits & 0xff);  // a power of two, without sign or zero
    return exponent == 0xff ? kNan : std::ldexp(1.0, exponent - 127);
  }
  const Format f = FormatOf(dtype);
  const uint64_t mantissa = bits & ((uint64_t{1} << f.mantissa_bits) - 1);
  const int top = (1 << f.exponent_bits) - 1;
  const int exponent = int(bits >> f.mantissa_bits) & top;
  const bool negative = (bits >> (f.mantissa_bits + f.exponent_bits) & 1) != 0;
  if (f.specials == Specials::kIeee && exponent == top)
    return mantissa != 0 ? kNan : negative ? -kInf : kInf;
  if (f.specials == Specials::kNan && exponent == top &&
      mantissa == (uint64_t{1} << f.mantissa_bits) - 1)
    return kNan;
  if (f.specials == Specials::kNegZeroNan && negative && exponent == 0 && mantissa == 0)
    return kNan;
  const uint64_t hidden = exponent == 0 ? 0 : uint64_t{1} << f.mantissa_bits;
  const double magnitude = std::ldexp(double(hidden | mantissa),
                                      (exponent == 0 ? 1 : exponent) - f.bias - f.mantissa_bits);
  return negative ? -magnitude : magnitude;
}

uint64_t FloatToBits(DType dtype, double value) {
  if (dtype == DType::kF64) return std::bit_cast<uint64_t>(value);
  if (dtype == DType::kF32) return std::bit_cast<uint32_t>(float(value));
  int exponent = 0;
  const double magnitude = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  if (dtype == DType::kF8E8M0FNU) return uint64_t(exponent - 1 + 127) & 0xff;
  const Format f = FormatOf(dtype);
  const uint64_t sign = uint64_t{std::signbit(value)} << (f.exponent_bits + f.mantissa_bits);
  if (magnitude == 0) return sign;
  const int biased = std::max(exponent - 1 + f.bias, 0);  // 0: subnormal
  const int scale = f.mantissa_bits + f.bias - std::max(biased, 1);
  const double mantissa = std::nearbyint(std::ldexp(std::fabs(value), scale));
  // A mantissa that is rounded up to the next power of two carries into the exponent.
  const uint64_t hidden = biased == 0 ? 0 : uint64_t{1} << f.mantissa_bits;
  return sign | ((uint64_t(biased) << f.mantissa_bits) + (uint64_t(mantissa) - hidden));
}

}  // namespace PJRT_PLUGIN_NS::program
