// Conversions between every two dtypes, on every ISA that this CPU runs: through a decoder and an
// encoder of each type written from the definition of its encoding.

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "reference/kernels/kernel_table.h"
#include "reference/kernels/scalar_reference.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::reference::kernels {
namespace {

using backend::DTypeBytes;
using backend::IsInt;
using backend::IsSignedInt;
using scalar::BF16;
using scalar::F16;

// A value of any dtype: integers exactly, floats as f64, complex numbers as two of them.
struct Number {
  __int128 integer = 0;
  double re = 0, im = 0;
};

template <typename T>
T Read(const unsigned char* p) {
  T x;
  std::memcpy(&x, p, sizeof(T));
  return x;
}

// ---- The 8-bit floats and narrower, by enumeration of their codes ----

struct Format {
  int exponent, mantissa, bias;
  bool infinity, nan, negative_zero;  // which special values have codes
};
Format FormatOf(DType t) {
  switch (t) {
    case DType::kF4E2M1FN:
      return {2, 1, 1, false, false, true};
    case DType::kF6E2M3FN:
      return {2, 3, 1, false, false, true};
    case DType::kF6E3M2FN:
      return {3, 2, 3, false, false, true};
    case DType::kF8E3M4:
      return {3, 4, 3, true, true, true};
    case DType::kF8E4M3:
      return {4, 3, 7, true, true, true};
    case DType::kF8E4M3FN:
      return {4, 3, 7, false, true, true};
    case DType::kF8E4M3FNUZ:
      return {4, 3, 8, false, true, false};
    case DType::kF8E4M3B11FNUZ:
      return {4, 3, 11, false, true, false};
    case DType::kF8E5M2:
      return {5, 2, 15, true, true, true};
    default:
      return {5, 2, 16, false, true, false};  // kF8E5M2FNUZ
  }
}
double DecodeSmall(DType t, int code) {
  if (t == DType::kF8E8M0FNU) return code == 255 ? std::nan("") : std::ldexp(1.0, code - 127);
  const Format f = FormatOf(t);
  const int sign_bit = 1 << (f.exponent + f.mantissa);
  const int magnitude = code & (sign_bit - 1);
  const bool negative = (code & sign_bit) != 0;
  const int field = magnitude >> f.mantissa;
  const int mantissa = magnitude & ((1 << f.mantissa) - 1);
  const int top = (1 << f.exponent) - 1;
  if (f.infinity && field == top)
    return mantissa != 0 ? std::nan("") : negative ? -HUGE_VAL : HUGE_VAL;
  if (f.nan && f.negative_zero && magnitude == sign_bit - 1) return std::nan("");
  if (!f.negative_zero && code == sign_bit) return std::nan("");
  const double fraction = mantissa / double(1 << f.mantissa);
  const double value =
      field == 0 ? std::ldexp(fraction, 1 - f.bias) : std::ldexp(1 + fraction, field - f.bias);
  return negative ? -value : value;
}

// Whether `code` is a right result for x: the nearest value, of two the one with the even code.
bool IsNearestSmall(DType t, double x, int code) {
  const int codes =
      t == DType::kF8E8M0FNU ? 255 : 1 << (FormatOf(t).exponent + FormatOf(t).mantissa);
  const double got = DecodeSmall(t, code);
  if (t == DType::kF8E8M0FNU && (!(x > 0) || std::isinf(x))) return code == 255;
  const Format f = t == DType::kF8E8M0FNU ? Format{8, 0, 127, false, true, false} : FormatOf(t);
  if (std::isnan(x)) return f.nan ? std::isnan(got) : got == 0;
  if (t != DType::kF8E8M0FNU && std::signbit(x) != (code >= codes) && !std::isnan(got) &&
      (f.negative_zero || got != 0))
    return false;
  const double a = std::fabs(x);
  // The finite magnitudes, and the step that would follow the largest.
  double largest = 0, before = 0;
  for (int c = 0; c < codes; ++c) {
    const double v = DecodeSmall(t, c);
    if (!std::isfinite(v)) continue;
    before = largest, largest = v;
  }
  const double bound = largest + (t == DType::kF8E8M0FNU ? largest : largest - before) / 2;
  if (a >= bound || std::isinf(a)) {
    // The tie at the bound goes to the even code, which may be the largest finite one.
    if (a == bound && std::fabs(got) == largest && (code & 1) == 0) return true;
    return f.infinity ? std::isinf(got) : f.nan ? std::isnan(got) : std::fabs(got) == largest;
  }
  const double distance = std::fabs(a - std::fabs(got));
  for (int c = 0; c < codes; ++c) {
    const double v = DecodeSmall(t, c);
    if (!std::isfinite(v)) continue;
    if (std::fabs(v - a) < distance) return false;
    if (std::fabs(v - a) == distance && v != std::fabs(got) && (code & 1) != 0) return false;
  }
  return true;
}

// ---- Any dtype ----

int SmallBits(DType t) { return int(backend::DTypeBits(t)); }

Number Decode(DType t, const unsigned char* p) {
  Number n;
  switch (t) {
    case DType::kPred:
      n.integer = *p;
      break;
    case DType::kS1:
    case DType::kS2:
    case DType::kS4: {
      const int half = 1 << (SmallBits(t) - 1);
      n.integer = ((*p & (2 * half - 1)) ^ half) - half;
      break;
    }
    case DType::kU1:
    case DType::kU2:
    case DType::kU4:
      n.integer = *p & ((1 << SmallBits(t)) - 1);
      break;
    case DType::kS8:
      n.integer = Read<int8_t>(p);
      break;
    case DType::kS16:
      n.integer = Read<int16_t>(p);
      break;
    case DType::kS32:
      n.integer = Read<int32_t>(p);
      break;
    case DType::kS64:
      n.integer = Read<int64_t>(p);
      break;
    case DType::kU8:
      n.integer = Read<uint8_t>(p);
      break;
    case DType::kU16:
      n.integer = Read<uint16_t>(p);
      break;
    case DType::kU32:
      n.integer = Read<uint32_t>(p);
      break;
    case DType::kU64:
      n.integer = Read<uint64_t>(p);
      break;
    case DType::kF16:
      n.re = Read<F16>(p);
      break;
    case DType::kBF16:
      n.re = Read<BF16>(p);
      break;
    case DType::kF32:
      n.re = Read<float>(p);
      break;
    case DType::kF64:
      n.re = Read<double>(p);
      break;
    case DType::kC64:
      n.re = Read<float>(p), n.im = Read<float>(p + 4);
      break;
    case DType::kC128:
      n.re = Read<double>(p), n.im = Read<double>(p + 8);
      break;
    default:
      n.re = DecodeSmall(t, *p);
  }
  return n;
}

bool IsExact(DType t) { return t == DType::kPred || IsInt(t); }

__int128 Lowest(DType t) { return IsSignedInt(t) ? -(__int128(1) << (SmallBits(t) - 1)) : 0; }
__int128 Highest(DType t) { return Lowest(t) + (__int128(1) << SmallBits(t)) - 1; }

bool SameFloat(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// Whether `got` is what `from` is as a `to`.
bool RightResult(DType from, const Number& x, DType to, const unsigned char* got) {
  const Number y = Decode(to, got);
  if (to == DType::kPred) {
    const bool zero = IsExact(from) ? x.integer == 0 : x.re == 0 && x.im == 0;
    return *got == (zero ? 0 : 1);
  }
  if (IsInt(to)) {
    const __int128 range = __int128(1) << SmallBits(to);
    if (IsExact(from)) {
      __int128 wrapped = (x.integer % range + range) % range;
      if (wrapped > Highest(to)) wrapped -= range;
      return y.integer == wrapped && (SmallBits(to) >= 8 || *got < range);
    }
    if (std::isnan(x.re)) return y.integer == 0;
    if (x.re <= double(Lowest(to))) return y.integer == Lowest(to);
    if (x.re >= double(Highest(to))) return y.integer == Highest(to);
    return y.integer == __int128(x.re);
  }
  const double re = IsExact(from) ? double(x.integer) : x.re;
  switch (to) {
    // Integers come to f16 and bf16 by way of f32.
    case DType::kF16:
      return SameFloat(y.re, F16::From(IsExact(from) ? float(x.integer) : re));
    case DType::kBF16:
      return SameFloat(y.re, BF16::From(IsExact(from) ? float(x.integer) : re));
    case DType::kF32:
      return SameFloat(y.re, IsExact(from) ? float(x.integer) : float(re));
    case DType::kF64:
      return SameFloat(y.re, re);
    case DType::kC64:
      return SameFloat(y.re, IsExact(from) ? float(x.integer) : float(re)) &&
             SameFloat(y.im, float(x.im));
    case DType::kC128:
      return SameFloat(y.re, re) && SameFloat(y.im, x.im);
    default:
      return IsNearestSmall(to, re, *got);
  }
}

// Elements of `t`: every code of the small types, otherwise corners.
std::vector<unsigned char> Elements(DType t) {
  std::vector<unsigned char> bytes;
  const auto add = [&](auto x) {
    const auto* p = reinterpret_cast<const unsigned char*>(&x);
    bytes.insert(bytes.end(), p, p + sizeof(x));
  };
  if (t == DType::kPred) return {0, 1, 1, 0};
  if (SmallBits(t) <= 8) {
    for (int c = 0; c < (1 << SmallBits(t)); ++c) bytes.push_back(uint8_t(c));
    return bytes;
  }
  if (IsInt(t)) {
    for (int shift = 0; shift < SmallBits(t); ++shift)
      for (int64_t d : {-1, 0, 1, 3}) {
        const uint64_t x = (uint64_t(1) << shift) + uint64_t(d);
        for (uint64_t v : {x, uint64_t(0) - x}) {
          const auto* p = reinterpret_cast<const unsigned char*>(&v);
          bytes.insert(bytes.end(), p, p + DTypeBytes(t));
        }
      }
    return bytes;
  }
  std::vector<double> values;
  for (int e = -160; e <= 140; ++e)
    for (double s : {1.0, 1.25, 1.5, 1.75, 1.0078125, 1.00390625, 1.01171875, 1.0000000001,
                     1.9999999, 1.00048828125, 1.00146484375})
      for (double sign : {1.0, -1.0}) values.push_back(sign * std::ldexp(s, e));
  for (double v : {0.0, 0.5, 1e300, 1e-300, 5e-324, 3.4028236e38, 65519.99, 65520.0, 2147483647.5,
                   9223372036854775807.0, 18446744073709551615.0, HUGE_VAL})
    values.push_back(v), values.push_back(-v);
  values.push_back(std::nan(""));
  values.push_back(-std::nan(""));
  for (double v : values) {
    switch (t) {
      case DType::kF16:
        add(F16::From(v));
        break;
      case DType::kBF16:
        add(BF16::From(v));
        break;
      case DType::kF32:
        add(float(v));
        break;
      case DType::kF64:
        add(v);
        break;
      case DType::kC64:
        add(float(v)), add(float(v / 3));
        break;
      default:
        add(v), add(v / 3);
    }
  }
  return bytes;
}

void TestPair(DType from, DType to) {
  const ElementwiseFn convert = Kernels().Convert(from, to);
  const std::string where = std::string(ActiveIsa()) + " convert " + std::string(DTypeName(from)) +
                            " to " + std::string(DTypeName(to));
  if (convert == nullptr) {
    ADD_FAILURE() << where + ": the table has no kernel";
    return;
  }
  const std::vector<unsigned char> in = Elements(from);
  const int64_t n = int64_t(in.size() / DTypeBytes(from));
  std::vector<unsigned char> out(size_t(n + 1) * DTypeBytes(to), 0xa5);
  const void* operands[] = {in.data()};
  convert(operands, 0, out.data(), n);
  int failures = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Number x = Decode(from, &in[size_t(i) * DTypeBytes(from)]);
    if (!RightResult(from, x, to, &out[size_t(i) * DTypeBytes(to)]) && failures++ < 3) {
      const Number y = Decode(to, &out[size_t(i) * DTypeBytes(to)]);
      ADD_FAILURE() << where + " of " +
                           testing::PrintToString(IsExact(from) ? double(x.integer) : x.re) +
                           " gave " +
                           testing::PrintToString(IsExact(to) ? double(y.integer) : y.re);
    }
  }
  EXPECT_EQ(int(out[size_t(n) * DTypeBytes(to)]), 0xa5);
  // A scalar operand, and a short block.
  for (int64_t count : {0, 1, 7}) {
    const size_t at = size_t(n / 2);
    operands[0] = &in[at * DTypeBytes(from)];
    std::vector<unsigned char> repeated(8 * DTypeBytes(to), 0xa5);
    convert(operands, 1, repeated.data(), count);
    for (int64_t i = 0; i < count; ++i)
      EXPECT_TRUE(std::memcmp(&repeated[size_t(i) * DTypeBytes(to)], &out[at * DTypeBytes(to)],
                              DTypeBytes(to)) == 0);
    EXPECT_EQ(int(repeated[size_t(count) * DTypeBytes(to)]), 0xa5);
  }
}

void TestIsa(std::string_view isa) {
  if (!SelectIsa(isa).ok()) return;
  for (size_t from = 0; from < kNumDTypes; ++from)
    for (size_t to = 0; to < kNumDTypes; ++to) TestPair(DType(from), DType(to));
  EXPECT_TRUE(SelectIsa("").ok());
}

TEST(Convert, Baseline) { TestIsa("baseline"); }
TEST(Convert, Avx2) { TestIsa("avx2"); }
TEST(Convert, Avx512) { TestIsa("avx512"); }
TEST(Convert, Neon) { TestIsa("neon"); }

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference::kernels
