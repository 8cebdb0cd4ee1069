// The scalar meaning of every operation of elementwise.inc, for integers and real floats;
// complex.inl has the complex ones. A functor's name is the list's.

namespace op {

// What most functors are: vectorised for every type, different code for signed and unsigned
// integers.
struct Base {
  template <typename T>
  static constexpr bool kVector = true;
  // Signed integers may use the unsigned instance: the bits of the result are the same.
  static constexpr bool kBits = false;
};
struct BitsBase : Base {
  static constexpr bool kBits = true;
};
// f64 calls libm, element by element.
struct MathBase : Base {
  template <typename T>
  static constexpr bool kVector = kSame<T, float>;
};

// ---- Arithmetic ----

struct Abs : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x) {
    if constexpr (kIsFloat<T>) {
      return BitCast<T>(Bits<T>(BitCast<Bits<T>>(x) & (Bits<T>(-1) >> 1)));
    } else {
      return x < 0 ? T(Unsigned<T>(0) - Unsigned<T>(x)) : x;
    }
  }
};
struct Negate : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x) {
    if constexpr (!kIsInteger<T>) {
      return -x;
    } else {
      return T(T(0) - x);
    }
  }
};
struct Sign : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x) {
    if constexpr (kIsFloat<T>) {
      const T one = x > 0 ? T(1) : T(-1);
      return x == 0 || x != x ? x : one;
    } else {
      return T((x > 0) - (x < 0));
    }
  }
};
// Unsigned<T> narrower than int promotes to int; 16-bit products would overflow it.
struct Add : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    return T(x + y);
  }
};
struct Subtract : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    return T(x - y);
  }
};
struct Multiply : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    if constexpr (!kIsInteger<T> || sizeof(T) >= 4) {
      return x * y;
    } else {
      return T(uint32_t(x) * uint32_t(y));
    }
  }
};
struct FloatOnlyVector : Base {
  template <typename T>
  static constexpr bool kVector = kIsFloat<T>;
};
struct Divide : FloatOnlyVector {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    if constexpr (kIsFloat<T>) {
      return x / y;
    } else {
      if (y == 0) return T(-1);
      if constexpr (kIsSigned<T>) {
        if (y == T(-1)) return T(Unsigned<T>(0) - Unsigned<T>(x));
      }
      return T(x / y);
    }
  }
};
struct Remainder : Base {
  template <typename T>
  static constexpr bool kVector = false;
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    if constexpr (kSame<T, float>) {
      return ::fmodf(x, y);
    } else if constexpr (kSame<T, double>) {
      return ::fmod(x, y);
    } else {
      if (y == 0) return x;
      if constexpr (kIsSigned<T>) {
        if (y == T(-1)) return 0;
      }
      return T(x % y);
    }
  }
};

template <typename T>
PJRT_KERNEL_INLINE T IntegerPower(T x, T y) {
  if constexpr (kIsSigned<T>) {
    if (y < 0) return x == 1 ? T(1) : x == T(-1) ? ((y & 1) != 0 ? T(-1) : T(1)) : T(0);
  }
  uint64_t base = uint64_t(x), result = 1;
  for (uint64_t e = uint64_t(y); e != 0; e >>= 1, base *= base)
    if ((e & 1) != 0) result *= base;
  return T(result);
}
struct Power : MathBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    if constexpr (kSame<T, float>) {
      return math::Pow(x, y);
    } else if constexpr (kSame<T, double>) {
      return ::pow(x, y);
    } else {
      return IntegerPower(x, y);
    }
  }
};

// NaN wins, and +0 is greater than -0.
struct Maximum : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    if constexpr (kIsFloat<T>) {
      const T tie = BitCast<T>(Bits<T>(BitCast<Bits<T>>(x) & BitCast<Bits<T>>(y)));
      const T r = x > y ? x : y;
      const T s = x == y ? tie : r;
      return x != x ? x : s;
    } else {
      return x > y ? x : y;
    }
  }
};
struct Minimum : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    if constexpr (kIsFloat<T>) {
      const T tie = BitCast<T>(Bits<T>(BitCast<Bits<T>>(x) | BitCast<Bits<T>>(y)));
      const T r = x < y ? x : y;
      const T s = x == y ? tie : r;
      return x != x ? x : s;
    } else {
      return x < y ? x : y;
    }
  }
};
struct Clamp : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T low, T x, T high) {
    return Minimum::Apply(Maximum::Apply(low, x), high);
  }
};

// ---- Bits ----

struct Not : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x) {
    return T(~x);
  }
};
struct And : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    return x & y;
  }
};
struct Or : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    return x | y;
  }
};
struct Xor : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    return x ^ y;
  }
};
// For bytes 0 and 1.
struct PredNot : BitsBase {
  PJRT_KERNEL_INLINE static Pred Apply(Pred x) { return x ^ 1; }
};

template <typename T>
inline constexpr T kWidth = T(8 * sizeof(T));
// A shift amount is unsigned whatever its type says: a negative one is too large.
struct ShiftLeft : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    const T r = T(x << (y & (kWidth<T> - 1)));
    return y < kWidth<T> ? r : T(0);
  }
};
struct ShiftRightLogical : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    const T r = T(x >> (y & (kWidth<T> - 1)));
    return y < kWidth<T> ? r : T(0);
  }
};
template <typename U>
struct SignedOf;
template <>
struct SignedOf<uint8_t> {
  using Type = int8_t;
};
template <>
struct SignedOf<uint16_t> {
  using Type = int16_t;
};
template <>
struct SignedOf<uint32_t> {
  using Type = int32_t;
};
template <>
struct SignedOf<uint64_t> {
  using Type = int64_t;
};
struct ShiftRightArithmetic : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x, T y) {
    using S = typename SignedOf<T>::Type;
    const T last = T(kWidth<T> - 1);
    return T(S(x) >> (y < last ? y : last));
  }
};
struct Popcnt : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x) {
    constexpr T ones = T(-1);
    x = T(x - ((x >> 1) & T(ones / 3)));
    x = T((x & T(ones / 5)) + ((x >> 2) & T(ones / 5)));
    x = T((x + (x >> 4)) & T(ones / 17));
    if constexpr (sizeof(T) > 1) x = T(Multiply::Apply(x, T(ones / 255)) >> (8 * sizeof(T) - 8));
    return x;
  }
};
struct CountLeadingZeros : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(T x) {  // bits above the highest one that is set
    x = T(x | (x >> 1));
    x = T(x | (x >> 2));
    x = T(x | (x >> 4));
    if constexpr (sizeof(T) > 1) x = T(x | (x >> 8));
    if constexpr (sizeof(T) > 2) x = T(x | (x >> 16));
    if constexpr (sizeof(T) > 4) x = T(x | (x >> 32));
    return Popcnt::Apply(T(~x));
  }
};

// ---- Comparison ----

struct CompareEq : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static Pred Apply(T x, T y) {
    return x == y;
  }
};
struct CompareNe : BitsBase {
  template <typename T>
  PJRT_KERNEL_INLINE static Pred Apply(T x, T y) {
    return !(x == y);
  }
};
struct CompareGe : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static Pred Apply(T x, T y) {
    return x >= y;
  }
};
struct CompareGt : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static Pred Apply(T x, T y) {
    return x > y;
  }
};
struct CompareLe : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static Pred Apply(T x, T y) {
    return x <= y;
  }
};
struct CompareLt : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static Pred Apply(T x, T y) {
    return x < y;
  }
};
// The integer with the place of a float in the total order: -NaN, -inf, ..., -0, +0, ..., inf, NaN.
template <typename T>
PJRT_KERNEL_INLINE auto TotalOrder(T x) {
  using S = typename SignedOf<Bits<T>>::Type;
  const S s = BitCast<S>(x);
  return S(s ^ S(Bits<T>(s >> (8 * sizeof(T) - 1)) >> 1));
}
template <typename Compare>
struct Total : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static Pred Apply(T x, T y) {
    return Compare::Apply(TotalOrder(x), TotalOrder(y));
  }
};
struct CompareTotalEq : Total<CompareEq> {};
struct CompareTotalNe : Total<CompareNe> {};
struct CompareTotalGe : Total<CompareGe> {};
struct CompareTotalGt : Total<CompareGt> {};
struct CompareTotalLe : Total<CompareLe> {};
struct CompareTotalLt : Total<CompareLt> {};

struct IsFinite : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static Pred Apply(T x) {
    return Abs::Apply(x) < T(__builtin_inf());
  }
};

// ---- Rounding ----

struct Floor : Base {
  PJRT_KERNEL_INLINE static float Apply(float x) { return __builtin_floorf(x); }
  PJRT_KERNEL_INLINE static double Apply(double x) { return __builtin_floor(x); }
};
struct Ceil : Base {
  PJRT_KERNEL_INLINE static float Apply(float x) { return __builtin_ceilf(x); }
  PJRT_KERNEL_INLINE static double Apply(double x) { return __builtin_ceil(x); }
};
struct RoundNearestEven : Base {
  PJRT_KERNEL_INLINE static float Apply(float x) { return __builtin_rintf(x); }
  PJRT_KERNEL_INLINE static double Apply(double x) { return __builtin_rint(x); }
};
struct RoundNearestAfz : Base {
  // The greatest number below one half: one half itself would round 0.49999997 up.
  PJRT_KERNEL_INLINE static float Apply(float x) {
    return __builtin_truncf(x + __builtin_copysignf(0x1.fffffep-2f, x));
  }
  PJRT_KERNEL_INLINE static double Apply(double x) {
    return __builtin_trunc(x + __builtin_copysign(0x1.fffffffffffffp-2, x));
  }
};

// ---- Functions ----

struct Sqrt : Base {
  PJRT_KERNEL_INLINE static float Apply(float x) { return __builtin_sqrtf(x); }
  PJRT_KERNEL_INLINE static double Apply(double x) { return __builtin_sqrt(x); }
};
struct Rsqrt : Base {
  PJRT_KERNEL_INLINE static float Apply(float x) { return 1.0f / __builtin_sqrtf(x); }
  PJRT_KERNEL_INLINE static double Apply(double x) { return 1.0 / __builtin_sqrt(x); }
};

inline double LogisticF64(double x) {
  const double e = ::exp(-__builtin_fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}

#define PJRT_KERNEL_MATH(Name, f32, f64)                             \
  struct Name : MathBase {                                           \
    PJRT_KERNEL_INLINE static float Apply(float x) { return f32; }   \
    PJRT_KERNEL_INLINE static double Apply(double x) { return f64; } \
  };
PJRT_KERNEL_MATH(Exponential, math::Exp(x), ::exp(x))
PJRT_KERNEL_MATH(ExponentialMinusOne, math::Expm1(x), ::expm1(x))
PJRT_KERNEL_MATH(Log, math::Log(x), ::log(x))
PJRT_KERNEL_MATH(LogPlusOne, math::Log1p(x), ::log1p(x))
PJRT_KERNEL_MATH(Logistic, math::Logistic(x), LogisticF64(x))
PJRT_KERNEL_MATH(Tanh, math::Tanh(x), ::tanh(x))
PJRT_KERNEL_MATH(Cbrt, math::Cbrt(x), ::cbrt(x))
#undef PJRT_KERNEL_MATH

#define PJRT_KERNEL_TRIG(Name, f32, libm)                                                         \
  struct Name : MathBase {                                                                        \
    PJRT_KERNEL_INLINE static float Apply(float x) { return f32(x); }                             \
    PJRT_KERNEL_INLINE static bool Hard(float x) { return !(Abs::Apply(x) <= math::kTrigLimit); } \
    PJRT_KERNEL_INLINE static float Slow(float x) { return ::libm##f(x); }                        \
    PJRT_KERNEL_INLINE static double Apply(double x) { return ::libm(x); }                        \
  };
PJRT_KERNEL_TRIG(Sine, math::Sin, sin)
PJRT_KERNEL_TRIG(Cosine, math::Cos, cos)
PJRT_KERNEL_TRIG(Tan, math::Tan, tan)
#undef PJRT_KERNEL_TRIG

struct Atan2 : MathBase {
  PJRT_KERNEL_INLINE static float Apply(float y, float x) { return math::Atan2(y, x); }
  PJRT_KERNEL_INLINE static double Apply(double y, double x) { return ::atan2(y, x); }
};

// ---- Mixed operands ----

struct Select : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(Pred p, T on_true, T on_false) {
    return p != 0 ? on_true : on_false;
  }
};
struct Complex : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static ComplexOf<T> Apply(T re, T im) {
    return {re, im};
  }
};
struct Real : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(ComplexOf<T> z) {
    return z.re;
  }
};
struct Imag : Base {
  template <typename T>
  PJRT_KERNEL_INLINE static T Apply(ComplexOf<T> z) {
    return z.im;
  }
};

}  // namespace op
