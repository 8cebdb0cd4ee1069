#ifndef REFERENCE_KERNELS_SCALAR_REFERENCE_H_
#define REFERENCE_KERNELS_SCALAR_REFERENCE_H_

// For tests: what every elementwise operation means, one element at a time, in arithmetic wider
// than the kernels'. The switches have no default, so that an operation added to elementwise.inc
// without a meaning here is a warning, and its test fails for want of an expected value.

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "reference/kernels/kernel_table.h"

namespace PJRT_PLUGIN_NS::reference::kernels::scalar {

// ---- Element types ----

// f16 and bf16 by the definition of their encoding.
template <int exponent_bits, int mantissa_bits>
struct Half {
  uint16_t bits = 0;

  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  static constexpr int kMaxField = (1 << exponent_bits) - 1;

  operator double() const {
    const int field = (bits >> mantissa_bits) & kMaxField;
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    double value;
    if (field == kMaxField) {
      value = mantissa != 0 ? std::nan("") : HUGE_VAL;
    } else {
      value = std::ldexp(field == 0 ? mantissa : (1 << mantissa_bits) + mantissa,
                         (field == 0 ? 1 : field) - kBias - mantissa_bits);
    }
    return (bits & 0x8000) != 0 ? -value : value;
  }
  static Half From(double x) {
    const int sign = std::signbit(x) ? 0x8000 : 0;
    if (std::isnan(x))
      return {uint16_t(sign | kMaxField << mantissa_bits | 1 << (mantissa_bits - 1))};
    int exponent = x == 0 ? -kBias : std::ilogb(x);
    if (exponent > kBias + 1 || std::isinf(x)) exponent = kBias + 1;
    if (exponent < 1 - kBias) exponent = 1 - kBias;
    double significand = std::nearbyint(std::ldexp(std::fabs(x), mantissa_bits - exponent));
    if (exponent > kBias) significand = double(1 << mantissa_bits);
    const int code = ((exponent + kBias - 1) << mantissa_bits) + int(significand);
    const int infinity = kMaxField << mantissa_bits;
    return {uint16_t(sign | (code > infinity ? infinity : code))};
  }
};
using F16 = Half<5, 10>;
using BF16 = Half<8, 7>;
struct Pred {
  uint8_t value = 0;
  operator bool() const { return value != 0; }
};

template <typename T>
inline constexpr bool kHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <typename T>
inline constexpr bool kReal = kHalf<T> || std::is_floating_point_v<T>;
template <typename T>
inline constexpr bool kComplexNumber =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// The value of T nearest to x. f16 and bf16 round twice, as the kernels do: to f32, then to their
// own width.
template <typename T>
T Rounded(long double x) {
  if constexpr (kHalf<T>) {
    return T::From(double(float(x)));
  } else {
    return T(x);
  }
}

// ---- Operations ----

inline long double RoundAway(long double x) { return std::round(x); }

// The value of an operation on real floats; nothing where it is not one (comparisons are below). T
// is the type that the kernel computes in, float or double: it rounds where the operation itself is
// a rounded one.
template <typename T>
std::optional<long double> Float(ElementwiseOp op, T x, T y, T z) {
  using Op = ElementwiseOp;
  using L = long double;
  const auto max = [](T a, T b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
  };
  const auto min = [](T a, T b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
  };
  switch (op) {
    case Op::kAbs:
      return std::fabs(x);
    case Op::kCbrt:
      return std::cbrt(L(x));
    case Op::kCeil:
      return std::ceil(x);
    case Op::kCosine:
      return std::cos(L(x));
    case Op::kExponential:
      return std::exp(L(x));
    case Op::kExponentialMinusOne:
      return std::expm1(L(x));
    case Op::kFloor:
      return std::floor(x);
    case Op::kLog:
      return std::log(L(x));
    case Op::kLogPlusOne:
      return std::log1p(L(x));
    case Op::kLogistic:
      return 1 / (1 + std::exp(-L(x)));
    case Op::kNegate:
      return -x;
    case Op::kRoundNearestAfz:
      return RoundAway(x);
    case Op::kRoundNearestEven:
      return std::nearbyint(x);
    case Op::kRsqrt:
      return 1 / std::sqrt(L(x));
    case Op::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    case Op::kSine:
      return std::sin(L(x));
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kTan:
      return std::tan(L(x));
    case Op::kTanh:
      return std::tanh(L(x));
    case Op::kAdd:
      return T(x + y);
    case Op::kAtan2:
      return std::atan2(L(x), L(y));
    case Op::kDivide:
      return T(x / y);
    case Op::kMaximum:
      return max(x, y);
    case Op::kMinimum:
      return min(x, y);
    case Op::kMultiply:
      return T(x * y);
    case Op::kPower:
      return std::pow(L(x), L(y));
    case Op::kRemainder:
      return std::fmod(x, y);
    case Op::kSubtract:
      return T(x - y);
    case Op::kClamp:
      return min(max(x, y), z);
    case Op::kSelect:
    case Op::kCountLeadingZeros:
    case Op::kImag:
    case Op::kIsFinite:
    case Op::kNot:
    case Op::kPopcnt:
    case Op::kReal:
    case Op::kAnd:
    case Op::kComplex:
    case Op::kOr:
    case Op::kShiftLeft:
    case Op::kShiftRightArithmetic:
    case Op::kShiftRightLogical:
    case Op::kXor:
    case Op::kCompareEq:
    case Op::kCompareNe:
    case Op::kCompareGe:
    case Op::kCompareGt:
    case Op::kCompareLe:
    case Op::kCompareLt:
    case Op::kCompareTotalEq:
    case Op::kCompareTotalNe:
    case Op::kCompareTotalGe:
    case Op::kCompareTotalGt:
    case Op::kCompareTotalLe:
    case Op::kCompareTotalLt:
      break;
  }
  return std::nullopt;
}

// How far a kernel may be from the true value, in units in the last place of the type it computes
// in.
inline double Tolerance(ElementwiseOp op) {
  using Op = ElementwiseOp;
  switch (op) {
    case Op::kCosine:
    case Op::kExponential:
    case Op::kExponentialMinusOne:
    case Op::kLog:
    case Op::kLogPlusOne:
    case Op::kRsqrt:
    case Op::kSine:
    case Op::kPower:
      return 2;
    case Op::kLogistic:
    case Op::kTan:
    case Op::kTanh:
    case Op::kAtan2:
      return 3;
    case Op::kCbrt:
      return 4;  // of f64: the C library's
    default:
      return 0;
  }
}

// Comparisons, for every type that has them.
template <typename T>
std::optional<bool> Compare(ElementwiseOp op, T x, T y) {
  using Op = ElementwiseOp;
  // -NaN, -inf, ..., -0, +0, ..., inf, NaN.
  const auto rank = [](double v) {
    const int sign = std::signbit(v) ? -1 : 1;
    return std::pair<int, double>(std::isnan(v) ? sign * 3
                                  : v == 0      ? sign
                                                : sign * 2,
                                  std::isnan(v) ? 0 : v);
  };
  [[maybe_unused]] const auto order = [&](double a, double b) {
    const auto ra = rank(a), rb = rank(b);
    if (std::signbit(a) != std::signbit(b)) return std::signbit(a) ? -1 : 1;
    if (std::isnan(a) != std::isnan(b)) return ra.first < rb.first ? -1 : 1;
    return ra.second < rb.second ? -1 : ra.second > rb.second ? 1 : 0;
  };
  switch (op) {
    case Op::kCompareEq:
      return x == y;
    case Op::kCompareNe:
      return x != y;
    default:
      break;
  }
  if constexpr (!kComplexNumber<T>) {
    switch (op) {
      case Op::kCompareGe:
        return x >= y;
      case Op::kCompareGt:
        return x > y;
      case Op::kCompareLe:
        return x <= y;
      case Op::kCompareLt:
        return x < y;
      default:
        break;
    }
  }
  if constexpr (kReal<T>) {
    switch (op) {
      case Op::kCompareTotalEq:
        return order(x, y) == 0;
      case Op::kCompareTotalNe:
        return order(x, y) != 0;
      case Op::kCompareTotalGe:
        return order(x, y) >= 0;
      case Op::kCompareTotalGt:
        return order(x, y) > 0;
      case Op::kCompareTotalLe:
        return order(x, y) <= 0;
      case Op::kCompareTotalLt:
        return order(x, y) < 0;
      case Op::kIsFinite:
        return std::isfinite(double(x));
      default:
        break;
    }
  }
  return std::nullopt;
}

template <typename T>
std::optional<T> Integer(ElementwiseOp op, T x, T y, T z) {
  using Op = ElementwiseOp;
  using U = std::make_unsigned_t<T>;
  constexpr int width = 8 * sizeof(T);
  const uint64_t ux = uint64_t(x), uy = uint64_t(y);
  const bool negative = std::is_signed_v<T> && y < 0;
  switch (op) {
    case Op::kAbs:
      return x < 0 ? T(-ux) : x;
    case Op::kNegate:
      return T(-ux);
    case Op::kNot:
      return T(~ux);
    case Op::kSign:
      return T(x > 0 ? 1 : x < 0 ? -1 : 0);
    case Op::kPopcnt: {
      int count = 0;
      for (int i = 0; i < width; ++i) count += (ux >> i) & 1;
      return T(count);
    }
    case Op::kCountLeadingZeros: {
      int count = 0;
      while (count < width && ((ux >> (width - 1 - count)) & 1) == 0) ++count;
      return T(count);
    }
    case Op::kAdd:
      return T(ux + uy);
    case Op::kSubtract:
      return T(ux - uy);
    case Op::kMultiply:
      return T(ux * uy);
    case Op::kDivide:
      if (y == 0) return T(-1);
      if (negative && y == T(-1)) return T(-ux);
      return T(x / y);
    case Op::kRemainder:
      if (y == 0) return x;
      if (negative && y == T(-1)) return T(0);
      return T(x % y);
    case Op::kPower: {
      if (negative) return T(x == 1 ? 1 : x == T(-1) ? (y % 2 == 0 ? 1 : -1) : 0);
      // Square and multiply from the top; the kernel goes from the bottom.
      uint64_t power = 1;
      for (int i = 63; i >= 0; --i) power = power * power * (((uy >> i) & 1) != 0 ? ux : 1);
      return T(power);
    }
    case Op::kMaximum:
      return x > y ? x : y;
    case Op::kMinimum:
      return x < y ? x : y;
    case Op::kClamp: {
      const T low = x > y ? x : y;
      return low < z ? low : z;
    }
    case Op::kAnd:
      return T(ux & uy);
    case Op::kOr:
      return T(ux | uy);
    case Op::kXor:
      return T(ux ^ uy);
    case Op::kShiftLeft:
      return U(y) < width ? T(ux << uy) : T(0);
    case Op::kShiftRightLogical:
      return U(y) < width ? T(U(x) >> uy) : T(0);
    case Op::kShiftRightArithmetic: {
      const int64_t sx = std::make_signed_t<T>(x);
      return T(sx >> (U(y) < width ? uy : width - 1));
    }
    default:
      return std::nullopt;
  }
}

inline std::optional<Pred> Boolean(ElementwiseOp op, bool x, bool y, bool z) {
  using Op = ElementwiseOp;
  switch (op) {
    case Op::kNot:
      return Pred{!x};
    case Op::kAdd:
    case Op::kMaximum:
    case Op::kOr:
      return Pred{x || y};
    case Op::kAnd:
    case Op::kMinimum:
    case Op::kMultiply:
      return Pred{x && y};
    case Op::kXor:
      return Pred{x != y};
    case Op::kClamp:
      return Pred{(x || y) && z};
    default:
      return std::nullopt;
  }
}

// On numbers of moderate size: the corners are the C library's.
inline std::optional<std::complex<long double>> ComplexFloat(ElementwiseOp op,
                                                             std::complex<long double> x,
                                                             std::complex<long double> y) {
  using Op = ElementwiseOp;
  using C = std::complex<long double>;
  const C i(0, 1);
  switch (op) {
    case Op::kCbrt:
      return std::pow(x, C(1.0L / 3));
    case Op::kCosine:
      return std::cos(x);
    case Op::kExponential:
      return std::exp(x);
    case Op::kExponentialMinusOne:
      return std::exp(x) - 1.0L;
    case Op::kLog:
      return std::log(x);
    case Op::kLogPlusOne:
      return std::log(1.0L + x);
    case Op::kLogistic:
      return 1.0L / (1.0L + std::exp(-x));
    case Op::kNegate:
      return -x;
    case Op::kRsqrt:
      return 1.0L / std::sqrt(x);
    case Op::kSign:
      return x == C(0) ? x : x / std::abs(x);
    case Op::kSine:
      return std::sin(x);
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kTan:
      return std::tan(x);
    case Op::kTanh:
      return std::tanh(x);
    case Op::kAdd:
      return x + y;
    case Op::kAtan2:
      return -i * std::log((y + i * x) / std::sqrt(y * y + x * x));
    case Op::kDivide:
      return x / y;
    case Op::kMultiply:
      return x * y;
    case Op::kPower:
      return std::pow(x, y);
    case Op::kSubtract:
      return x - y;
    default:
      return std::nullopt;
  }
}

}  // namespace PJRT_PLUGIN_NS::reference::kernels::scalar

#endif  // REFERENCE_KERNELS_SCALAR_REFERENCE_H_
