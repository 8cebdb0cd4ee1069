// What every family of kernels stands on: the names of the element types, and the loop over a
// block.
//
// The .inl files of this folder are compiled once for each ISA, inside its namespace and its target
// region. They use no std templates, only builtins: an instance of a std template made in here
// would be a weak symbol with this ISA's instructions, which the linker may choose for the whole
// program.

// ---- Element types ----

using Pred = uint8_t;
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};
template <typename T>
struct ComplexOf {
  T re, im;
};
template <typename T>
PJRT_KERNEL_INLINE ComplexOf<T> operator-(ComplexOf<T> x) {
  return {-x.re, -x.im};
}
template <typename T>
PJRT_KERNEL_INLINE ComplexOf<T> operator+(ComplexOf<T> x, ComplexOf<T> y) {
  return {x.re + y.re, x.im + y.im};
}
template <typename T>
PJRT_KERNEL_INLINE ComplexOf<T> operator-(ComplexOf<T> x, ComplexOf<T> y) {
  return {x.re - y.re, x.im - y.im};
}
template <typename T>
PJRT_KERNEL_INLINE ComplexOf<T> operator*(ComplexOf<T> x, ComplexOf<T> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
template <typename T>
PJRT_KERNEL_INLINE bool operator==(ComplexOf<T> x, ComplexOf<T> y) {
  return (x.re == y.re) & (x.im == y.im);
}
using C64 = ComplexOf<float>;
using C128 = ComplexOf<double>;

template <typename A, typename B>
inline constexpr bool kSame = false;
template <typename A>
inline constexpr bool kSame<A, A> = true;

template <typename T>
inline constexpr bool kIsFloat = kSame<T, float> || kSame<T, double>;
template <typename T>
inline constexpr bool kIsHalf = kSame<T, F16> || kSame<T, BF16>;
template <typename T>
inline constexpr bool kIsComplex = kSame<T, C64> || kSame<T, C128>;
template <typename T>
inline constexpr bool kIsInteger = !kIsFloat<T> && !kIsHalf<T> && !kIsComplex<T>;
template <typename T>
inline constexpr bool kIsSigned = T(-1) < T(0);

template <size_t bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using Type = uint8_t;
};
template <>
struct UnsignedOf<2> {
  using Type = uint16_t;
};
template <>
struct UnsignedOf<4> {
  using Type = uint32_t;
};
template <>
struct UnsignedOf<8> {
  using Type = uint64_t;
};
// The unsigned integer as wide as T: wrap-around arithmetic and bit patterns.
template <typename T>
using Unsigned = typename UnsignedOf<sizeof(T)>::Type;
template <typename T>
using Bits = Unsigned<T>;

template <typename To, typename From>
PJRT_KERNEL_INLINE To BitCast(From x) {
  return __builtin_bit_cast(To, x);
}

// ---- The loop over a block ----

// Bytes of an operand that one step of a vectorised loop handles. The count is fixed, so that the
// compiler emits whole vectors and nothing else; what is left over at the end goes through the same
// code in a padded copy, which also makes an element's result independent of its place in the
// block.
inline constexpr int kStepBytes = 128;
template <typename T>
inline constexpr int kStep = kStepBytes / int(sizeof(T));

// One operand of a block: dense elements, or one element repeated `kStep` times and never left.
template <typename T, int count>
struct Operand {
  const T* at;
  int64_t advance;
  alignas(64) T copy[count];  // no load of a whole vector crosses a cache line

  PJRT_KERNEL_INLINE Operand(const void* in, bool scalar)
      : at(static_cast<const T*>(in)), advance(count) {
    if (scalar) {
      const T value = *at;
      for (int i = 0; i < count; ++i) copy[i] = value;
      at = copy;
      advance = 0;
    }
  }
  PJRT_KERNEL_INLINE void Next() { at += advance; }
  // Puts the last `n` elements into the copy, padded with zeros.
  PJRT_KERNEL_INLINE void Pad(int64_t n) {
    if (advance == 0) return;
    for (int i = 0; i < count; ++i) copy[i] = T{};
    for (int64_t i = 0; i < n; ++i) copy[i] = at[i];
    at = copy;
  }
};

// Of one element every operand may count as one that stands for all: a vector filled with it is
// made in registers, where a padded copy would wait for its stores. Loops over scalars live on
// that.
PJRT_KERNEL_INLINE uint32_t AllScalars(int64_t n) { return n == 1 ? ~uint32_t{0} : 0; }

// The kernels of one functor. An Op has
//   static R Apply(T...)               the scalar operation, without branches where it is to
//   vectorise static constexpr bool kVector<T>   false: an element costs a call or a division; the
//   loop runs exactly n times static bool Hard(T), Slow(T)       optional: elements that Apply
//   cannot do, and the function that can
template <typename Op, typename R, typename A>
void Map1(const void* const* in, uint32_t scalars, void* out, int64_t n) {
  R* o = static_cast<R*>(out);
  if constexpr (!Op::template kVector<A>) {
    const A* a = static_cast<const A*>(in[0]);
    const int64_t step = !(scalars & 1);
    for (int64_t i = 0; i < n; ++i) o[i] = Op::Apply(a[i * step]);
  } else {
    scalars |= AllScalars(n);
    constexpr int count = sizeof(R) > sizeof(A) ? kStep<R> : kStep<A>;
    Operand<A, count> a(in[0], scalars & 1);
    R rest[count];
    for (; n > 0; n -= count, a.Next(), o += count) {
      R* to = o;
      if (n < count) a.Pad(n), to = rest;
      const A* pa = a.at;
      bool easy = true;
      if constexpr (requires { Op::Hard(A{}); }) {
        uint32_t hard = 0;
        for (int i = 0; i < count; ++i) hard |= Op::Hard(pa[i]);
        easy = hard == 0;
        if (!easy)
          for (int i = 0; i < count; ++i) to[i] = Op::Slow(pa[i]);
      }
      if (easy) {
        PJRT_KERNEL_INDEPENDENT
        for (int i = 0; i < count; ++i) to[i] = Op::Apply(pa[i]);
      }
      if (n < count)
        for (int64_t i = 0; i < n; ++i) o[i] = rest[i];
    }
  }
}

template <typename Op, typename R, typename A, typename B>
void Map2(const void* const* in, uint32_t scalars, void* out, int64_t n) {
  R* o = static_cast<R*>(out);
  if constexpr (!Op::template kVector<A>) {
    const A* a = static_cast<const A*>(in[0]);
    const B* b = static_cast<const B*>(in[1]);
    const int64_t step_a = !(scalars & 1), step_b = !(scalars & 2);
    for (int64_t i = 0; i < n; ++i) o[i] = Op::Apply(a[i * step_a], b[i * step_b]);
  } else {
    scalars |= AllScalars(n);
    constexpr int count = kStep<A>;
    Operand<A, count> a(in[0], scalars & 1);
    Operand<B, count> b(in[1], scalars & 2);
    R rest[count];
    for (; n > 0; n -= count, a.Next(), b.Next(), o += count) {
      R* to = o;
      if (n < count) a.Pad(n), b.Pad(n), to = rest;
      const A* pa = a.at;
      const B* pb = b.at;
      PJRT_KERNEL_INDEPENDENT
      for (int i = 0; i < count; ++i) to[i] = Op::Apply(pa[i], pb[i]);
      if (n < count)
        for (int64_t i = 0; i < n; ++i) o[i] = rest[i];
    }
  }
}

template <typename Op, typename R, typename A, typename B, typename C>
void Map3(const void* const* in, uint32_t scalars, void* out, int64_t n) {
  R* o = static_cast<R*>(out);
  scalars |= AllScalars(n);
  constexpr int count = kStep<C>;
  Operand<A, count> a(in[0], scalars & 1);
  Operand<B, count> b(in[1], scalars & 2);
  Operand<C, count> c(in[2], scalars & 4);
  R rest[count];
  for (; n > 0; n -= count, a.Next(), b.Next(), c.Next(), o += count) {
    R* to = o;
    if (n < count) a.Pad(n), b.Pad(n), c.Pad(n), to = rest;
    const A* pa = a.at;
    const B* pb = b.at;
    const C* pc = c.at;
    PJRT_KERNEL_INDEPENDENT
    for (int i = 0; i < count; ++i) to[i] = Op::Apply(pa[i], pb[i], pc[i]);
    if (n < count)
      for (int64_t i = 0; i < n; ++i) o[i] = rest[i];
  }
}
