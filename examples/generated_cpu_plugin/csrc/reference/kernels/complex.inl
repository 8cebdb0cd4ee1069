// Functions of complex numbers: f64 arithmetic and the C library, for both widths.

namespace complex_op {

using Cx = _Complex double;

PJRT_KERNEL_INLINE Cx Make(double re, double im) {
  Cx z;
  __real__ z = re;
  __imag__ z = im;
  return z;
}
PJRT_KERNEL_INLINE bool IsZero(Cx z) { return __real__ z == 0 && __imag__ z == 0; }

inline Cx Expm1(Cx z) {
  const double a = __real__ z, b = __imag__ z;
  if (b == 0) return Make(::expm1(a), b);
  const double s = ::sin(0.5 * b);  // expm1(a) cos b + (cos b - 1), without cancellation
  return Make(::expm1(a) * ::cos(b) - 2 * s * s, ::exp(a) * ::sin(b));
}
inline Cx Log1p(Cx z) {
  const double a = __real__ z, b = __imag__ z;
  const double grown = a * (2 + a) + b * b;  // |1 + z|^2 - 1
  const double re = grown > -0.5 && grown < 1 ? 0.5 * ::log1p(grown) : ::log(::hypot(1 + a, b));
  return Make(re, ::atan2(b, 1 + a));
}
inline Cx Unit(Cx z) {
  if (IsZero(z)) return z;
  const double length = ::hypot(__real__ z, __imag__ z);
  return Make(__real__ z / length, __imag__ z / length);
}
inline Cx Pow(Cx x, Cx y) {
  if (IsZero(y)) return Make(1, 0);
  if (IsZero(x) && __real__ y > 0) return Make(0, 0);
  return __builtin_cpow(x, y);
}
inline Cx Angle(Cx y, Cx x) {  // -i log((x + i y) / sqrt(x^2 + y^2))
  const Cx i = Make(0, 1);
  return -i * __builtin_clog((x + i * y) / __builtin_csqrt(x * x + y * y));
}

struct Base {
  template <typename T>
  static constexpr bool kVector = false;
};
template <typename T>
PJRT_KERNEL_INLINE Cx Read(ComplexOf<T> z) {
  return Make(z.re, z.im);
}
template <typename T>
PJRT_KERNEL_INLINE ComplexOf<T> Write(Cx z) {
  return {T(__real__ z), T(__imag__ z)};
}

#define PJRT_KERNEL_COMPLEX(Name, expression)       \
  struct Name : Base {                              \
    template <typename T>                           \
    static ComplexOf<T> Apply(ComplexOf<T> value) { \
      const Cx z = Read(value);                     \
      return Write<T>(expression);                  \
    }                                               \
  };
PJRT_KERNEL_COMPLEX(Cbrt, IsZero(z) ? z : __builtin_cpow(z, Make(1.0 / 3.0, 0)))
PJRT_KERNEL_COMPLEX(Cosine, __builtin_ccos(z))
PJRT_KERNEL_COMPLEX(Exponential, __builtin_cexp(z))
PJRT_KERNEL_COMPLEX(ExponentialMinusOne, Expm1(z))
PJRT_KERNEL_COMPLEX(Log, __builtin_clog(z))
PJRT_KERNEL_COMPLEX(LogPlusOne, Log1p(z))
PJRT_KERNEL_COMPLEX(Logistic, 1.0 / (1.0 + __builtin_cexp(-z)))
PJRT_KERNEL_COMPLEX(Rsqrt, 1.0 / __builtin_csqrt(z))
PJRT_KERNEL_COMPLEX(Sign, Unit(z))
PJRT_KERNEL_COMPLEX(Sine, __builtin_csin(z))
PJRT_KERNEL_COMPLEX(Sqrt, __builtin_csqrt(z))
PJRT_KERNEL_COMPLEX(Tan, __builtin_ctan(z))
PJRT_KERNEL_COMPLEX(Tanh, __builtin_ctanh(z))
#undef PJRT_KERNEL_COMPLEX

struct Abs : Base {
  template <typename T>
  static T Apply(ComplexOf<T> z) {
    return T(::hypot(double(z.re), double(z.im)));
  }
};
#define PJRT_KERNEL_COMPLEX(Name, expression)                            \
  struct Name : Base {                                                   \
    template <typename T>                                                \
    static ComplexOf<T> Apply(ComplexOf<T> first, ComplexOf<T> second) { \
      const Cx x = Read(first), y = Read(second);                        \
      return Write<T>(expression);                                       \
    }                                                                    \
  };
PJRT_KERNEL_COMPLEX(Atan2, Angle(x, y))
PJRT_KERNEL_COMPLEX(Divide, x / y)
PJRT_KERNEL_COMPLEX(Power, Pow(x, y))
#undef PJRT_KERNEL_COMPLEX

template <typename Op>
constexpr void Fill1(ElementwiseFn* row) {
  row[size_t(DType::kC64)] = &Map1<Op, decltype(Op::Apply(C64{})), C64>;
  row[size_t(DType::kC128)] = &Map1<Op, decltype(Op::Apply(C128{})), C128>;
}
template <typename Op>
constexpr void Fill2(ElementwiseFn* row) {
  row[size_t(DType::kC64)] = &Map2<Op, C64, C64, C64>;
  row[size_t(DType::kC128)] = &Map2<Op, C128, C128, C128>;
}

}  // namespace complex_op

constexpr void FillComplex(KernelTable& table) {
#define PJRT_KERNEL_ROW(fill, name) \
  complex_op::fill<complex_op::name>(table.elementwise[size_t(ElementwiseOp::k##name)]);
  PJRT_KERNEL_ROW(Fill1, Abs)
  PJRT_KERNEL_ROW(Fill1, Cbrt)
  PJRT_KERNEL_ROW(Fill1, Cosine)
  PJRT_KERNEL_ROW(Fill1, Exponential)
  PJRT_KERNEL_ROW(Fill1, ExponentialMinusOne)
  PJRT_KERNEL_ROW(Fill1, Log)
  PJRT_KERNEL_ROW(Fill1, LogPlusOne)
  PJRT_KERNEL_ROW(Fill1, Logistic)
  PJRT_KERNEL_ROW(Fill1, Rsqrt)
  PJRT_KERNEL_ROW(Fill1, Sign)
  PJRT_KERNEL_ROW(Fill1, Sine)
  PJRT_KERNEL_ROW(Fill1, Sqrt)
  PJRT_KERNEL_ROW(Fill1, Tan)
  PJRT_KERNEL_ROW(Fill1, Tanh)
  PJRT_KERNEL_ROW(Fill2, Atan2)
  PJRT_KERNEL_ROW(Fill2, Divide)
  PJRT_KERNEL_ROW(Fill2, Power)
#undef PJRT_KERNEL_ROW
}
