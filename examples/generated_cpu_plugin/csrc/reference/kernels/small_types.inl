// Conversions of the types with fewer than 8 bits and of the 8-bit floats: by way of f64, which
// holds all their values, or between integers by way of s64.

// What the codes of a small float with the largest magnitudes mean.
enum class Top {
  kIeee,             // exponent of all ones: infinity and NaN
  kNan,              // no infinity; NaN is all ones
  kNanNegativeZero,  // no infinity, no negative zero; NaN takes negative zero's code
  kNumbers,          // neither: too large a value saturates, NaN becomes a zero
};

// value = (-1)^sign 2^(exponent - bias) 1.mantissa, or without the leading one and with exponent 1
// when it is zero.
template <int exponent_bits, int mantissa_bits, int bias, Top top>
struct SmallFloat {
  static constexpr int kSign = 1 << (exponent_bits + mantissa_bits);
  static constexpr int kMagnitude = kSign - 1;
  static constexpr int kInfinity = ((1 << exponent_bits) - 1) << mantissa_bits;  // of kIeee
  static constexpr int kLargest = top == Top::kIeee  ? kInfinity - 1
                                  : top == Top::kNan ? kMagnitude - 1
                                                     : kMagnitude;

  static double Decode(uint8_t code) {
    const int magnitude = code & kMagnitude;
    const bool negative = (code & kSign) != 0;
    if (top == Top::kIeee && magnitude >= kInfinity)
      return magnitude > kInfinity ? __builtin_nan("")
             : negative            ? -__builtin_inf()
                                   : __builtin_inf();
    if ((top == Top::kNan && magnitude == kMagnitude) ||
        (top == Top::kNanNegativeZero && negative && magnitude == 0))
      return __builtin_nan("");
    const int exponent = magnitude >> mantissa_bits;
    const int mantissa = magnitude & ((1 << mantissa_bits) - 1);
    const double value =
        exponent == 0 ? ::ldexp(mantissa, 1 - bias - mantissa_bits)
                      : ::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
    return negative ? -value : value;
  }
  static uint8_t Encode(double x) {
    const int sign = (BitCast<uint64_t>(x) >> 63) != 0 ? kSign : 0;
    if (x != x) {
      if (top == Top::kIeee) return uint8_t(sign | kInfinity | (1 << (mantissa_bits - 1)));
      if (top == Top::kNan) return uint8_t(sign | kMagnitude);
      if (top == Top::kNumbers) return uint8_t(sign ^ kSign);
      return kSign;
    }
    const double a = __builtin_fabs(x);
    int code = kLargest + 1;
    if (a < ::ldexp(1.0, 1 << exponent_bits)) {
      int exponent = a > 0 ? ::ilogb(a) : -bias;
      if (exponent < 1 - bias) exponent = 1 - bias;
      // The leading one of the rounded significand adds one to the exponent field.
      const int significand = int(__builtin_rint(::ldexp(a, mantissa_bits - exponent)));
      code = ((exponent + bias - 1) << mantissa_bits) + significand;
    }
    if (code > kLargest) {
      if (top == Top::kIeee) return uint8_t(sign | kInfinity);
      if (top == Top::kNan) return uint8_t(sign | kMagnitude);
      if (top == Top::kNanNegativeZero) return kSign;
      code = kLargest;
    }
    if (top == Top::kNanNegativeZero && code == 0) return 0;
    return uint8_t(sign | code);
  }
};

// A power of two, no sign, no zero.
struct SmallExponent {
  static double Decode(uint8_t code) {
    return code == 0xff ? __builtin_nan("") : ::ldexp(1.0, int(code) - 127);
  }
  static uint8_t Encode(double x) {
    if (!(x > 0) || x > 0x1p200) return 0xff;
    int code = ::ilogb(x) + 127;
    const double rest = ::ldexp(x, 127 - code);  // in [1, 2)
    if (rest > 1.5 || (rest == 1.5 && (code & 1) != 0)) ++code;
    if (code < 0) code = 0;
    return uint8_t(code > 0xfe ? 0xff : code);
  }
};

// In the low bits of a byte, the others zero.
template <int bits, bool is_signed>
struct SmallInt {
  static constexpr int kMask = (1 << bits) - 1;
  static constexpr int kLowest = is_signed ? -(1 << (bits - 1)) : 0;
  static constexpr int kHighest = kLowest + kMask;

  static int64_t DecodeInt(uint8_t code) {
    const int value = code & kMask;
    return value > kHighest ? value - kMask - 1 : value;
  }
  static uint8_t EncodeInt(int64_t x) { return uint8_t(x & kMask); }
  static double Decode(uint8_t code) { return double(DecodeInt(code)); }
  static uint8_t Encode(double x) {
    if (x != x) return 0;
    const double held = x < kLowest ? kLowest : x > kHighest ? kHighest : x;
    return EncodeInt(int64_t(held));
  }
};

template <DType t>
struct SmallOf;
#define PJRT_KERNEL_SMALL(dtype, ...) \
  template <>                         \
  struct SmallOf<DType::dtype> {      \
    using Type = __VA_ARGS__;         \
  };
PJRT_KERNEL_SMALL(kS1, SmallInt<1, true>)
PJRT_KERNEL_SMALL(kS2, SmallInt<2, true>)
PJRT_KERNEL_SMALL(kS4, SmallInt<4, true>)
PJRT_KERNEL_SMALL(kU1, SmallInt<1, false>)
PJRT_KERNEL_SMALL(kU2, SmallInt<2, false>)
PJRT_KERNEL_SMALL(kU4, SmallInt<4, false>)
PJRT_KERNEL_SMALL(kF4E2M1FN, SmallFloat<2, 1, 1, Top::kNumbers>)
PJRT_KERNEL_SMALL(kF6E2M3FN, SmallFloat<2, 3, 1, Top::kNumbers>)
PJRT_KERNEL_SMALL(kF6E3M2FN, SmallFloat<3, 2, 3, Top::kNumbers>)
PJRT_KERNEL_SMALL(kF8E3M4, SmallFloat<3, 4, 3, Top::kIeee>)
PJRT_KERNEL_SMALL(kF8E4M3, SmallFloat<4, 3, 7, Top::kIeee>)
PJRT_KERNEL_SMALL(kF8E4M3FN, SmallFloat<4, 3, 7, Top::kNan>)
PJRT_KERNEL_SMALL(kF8E4M3FNUZ, SmallFloat<4, 3, 8, Top::kNanNegativeZero>)
PJRT_KERNEL_SMALL(kF8E4M3B11FNUZ, SmallFloat<4, 3, 11, Top::kNanNegativeZero>)
PJRT_KERNEL_SMALL(kF8E5M2, SmallFloat<5, 2, 15, Top::kIeee>)
PJRT_KERNEL_SMALL(kF8E5M2FNUZ, SmallFloat<5, 2, 16, Top::kNanNegativeZero>)
PJRT_KERNEL_SMALL(kF8E8M0FNU, SmallExponent)
#undef PJRT_KERNEL_SMALL
// clang-format off
#define PJRT_KERNEL_FOR_EACH_SMALL_TYPE(X)                                                 \
  X(kS1)                                                                                   \
  X(kS2)                                                                                   \
  X(kS4) X(kU1) X(kU2) X(kU4) X(kF4E2M1FN) X(kF6E2M3FN) X(kF6E3M2FN) X(kF8E3M4) X(kF8E4M3) \
      X(kF8E4M3FN) X(kF8E4M3FNUZ) X(kF8E4M3B11FNUZ) X(kF8E5M2) X(kF8E5M2FNUZ) X(kF8E8M0FNU)
// clang-format on

struct SmallBase {
  template <typename T>
  static constexpr bool kVector = false;
};
template <typename S>
struct DecodeOp : SmallBase {
  static double Apply(uint8_t code) { return S::Decode(code); }
};
template <typename S>
struct EncodeOp : SmallBase {
  static uint8_t Apply(double x) { return S::Encode(x); }
};
template <typename S>
struct DecodeIntOp : SmallBase {
  static int64_t Apply(uint8_t code) { return S::DecodeInt(code); }
};
template <typename S>
struct EncodeIntOp : SmallBase {
  static uint8_t Apply(int64_t x) { return S::EncodeInt(x); }
};
template <typename S>
inline constexpr ElementwiseFn kDecode = &Map1<DecodeOp<S>, double, uint8_t>;
template <typename S>
inline constexpr ElementwiseFn kEncode = &Map1<EncodeOp<S>, uint8_t, double>;
template <typename S>
inline constexpr ElementwiseFn kDecodeInt = &Map1<DecodeIntOp<S>, int64_t, uint8_t>;
template <typename S>
inline constexpr ElementwiseFn kEncodeInt = &Map1<EncodeIntOp<S>, uint8_t, int64_t>;

template <typename S>
inline constexpr bool kIsSmallInt = requires { S::kMask; };

template <typename S, DType wide>
constexpr ElementwiseFn FromSmall() {
  using W = typename TypeOf<wide>::Type;
  if constexpr (kIsSmallInt<S> && kIsInteger<W>) {
    constexpr ElementwiseFn second =
        wide == DType::kPred ? ConvertToPred<int64_t>() : ConvertFn<int64_t, W>();
    return &Compose<kDecodeInt<S>, second, 1, sizeof(W)>;
  } else if constexpr (kSame<W, double>) {
    return kDecode<S>;
  } else {
    constexpr ElementwiseFn second =
        wide == DType::kPred ? ConvertToPred<double>() : ConvertFn<double, W>();
    return &Compose<kDecode<S>, second, 1, sizeof(W)>;
  }
}
template <typename S, DType wide>
constexpr ElementwiseFn ToSmall() {
  using W = typename TypeOf<wide>::Type;
  if constexpr (kIsSmallInt<S> && kIsInteger<W>) {
    return &Compose<ConvertFn<W, int64_t>(), kEncodeInt<S>, sizeof(W), 1>;
  } else if constexpr (kSame<W, double>) {
    return kEncode<S>;
  } else {
    return &Compose<ConvertFn<W, double>(), kEncode<S>, sizeof(W), 1>;
  }
}
template <typename F, typename R>
constexpr ElementwiseFn BetweenSmall() {
  if constexpr (kIsSmallInt<F> && kIsSmallInt<R>) {
    return &Compose<kDecodeInt<F>, kEncodeInt<R>, 1, 1>;
  } else if constexpr (kSame<F, R>) {
    return ConvertFn<uint8_t, uint8_t>();
  } else {
    return &Compose<kDecode<F>, kEncode<R>, 1, 1>;
  }
}

template <DType t>
constexpr void FillSmall(KernelTable& table) {
  using S = typename SmallOf<t>::Type;
#define PJRT_KERNEL_ENTRY(wide)                                                \
  table.convert[size_t(t)][size_t(DType::wide)] = FromSmall<S, DType::wide>(); \
  table.convert[size_t(DType::wide)][size_t(t)] = ToSmall<S, DType::wide>();
  PJRT_KERNEL_FOR_EACH_TYPE(PJRT_KERNEL_ENTRY)
#undef PJRT_KERNEL_ENTRY
#define PJRT_KERNEL_ENTRY(other)                   \
  table.convert[size_t(t)][size_t(DType::other)] = \
      BetweenSmall<S, typename SmallOf<DType::other>::Type>();
  PJRT_KERNEL_FOR_EACH_SMALL_TYPE(PJRT_KERNEL_ENTRY)
#undef PJRT_KERNEL_ENTRY
}
constexpr void FillSmallTypes(KernelTable& table) {
#define PJRT_KERNEL_ROW(t) FillSmall<DType::t>(table);
  PJRT_KERNEL_FOR_EACH_SMALL_TYPE(PJRT_KERNEL_ROW)
#undef PJRT_KERNEL_ROW
}
