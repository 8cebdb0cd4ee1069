// Conversions between the types of 8 bits and more; small_types.inl adds the narrower ones.

template <typename R>
struct To {
  template <typename T>
  static constexpr bool kVector = true;
  template <typename T>
  PJRT_KERNEL_INLINE static R Apply(T x) {
    if constexpr (kIsComplex<R>) {
      return {decltype(R::re)(x), 0};
    } else if constexpr (kIsFloat<T> && kIsInteger<R>) {
      // The bounds are powers of two (or zero), exact in every float type.
      constexpr T low = kIsSigned<R> ? -T(uint64_t{1} << (8 * sizeof(R) - 1)) : T(0);
      constexpr T high = T(uint64_t{1} << (8 * sizeof(R) - 1)) * (kIsSigned<R> ? 1 : 2);
      constexpr R most = kIsSigned<R> ? R(Unsigned<R>(-1) >> 1) : R(-1);
      const bool fits = (x > low) & (x < high);
      const T safe = fits ? x : T(0);
      const R r = x >= high ? most : R(safe);
      return x <= low ? R(low) : r;
    } else {
      return R(x);
    }
  }
};
struct ToPred {
  template <typename T>
  static constexpr bool kVector = true;
  template <typename T>
  PJRT_KERNEL_INLINE static Pred Apply(T x) {
    return !(x == T{});
  }
};
template <typename R>
struct ComplexTo {
  template <typename T>
  static constexpr bool kVector = true;
  template <typename T>
  PJRT_KERNEL_INLINE static R Apply(ComplexOf<T> z) {
    if constexpr (kIsComplex<R>) {
      return {decltype(R::re)(z.re), decltype(R::re)(z.im)};
    } else {
      return z.re;
    }
  }
};

// Two conversions in a row, block by block on the stack.
PJRT_KERNEL_NOINLINE inline void ComposeBlocks(ElementwiseFn first, ElementwiseFn second,
                                               int64_t from_bytes, int64_t to_bytes,
                                               const void* const* in, uint32_t scalars, void* out,
                                               int64_t n) {
  constexpr int64_t kBlock = 256;
  alignas(64) char middle[kBlock * 16];
  const void* middle_in = middle;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = n - at < kBlock ? n - at : kBlock;
    const void* from = static_cast<const char*>(in[0]) + ((scalars & 1) ? 0 : at * from_bytes);
    first(&from, scalars, middle, count);
    second(&middle_in, 0, static_cast<char*>(out) + at * to_bytes, count);
  }
}
template <ElementwiseFn first, ElementwiseFn second, int from_bytes, int to_bytes>
void Compose(const void* const* in, uint32_t scalars, void* out, int64_t n) {
  ComposeBlocks(first, second, from_bytes, to_bytes, in, scalars, out, n);
}

// From F to R, by way of M where there is no direct conversion.
template <typename F, typename R>
constexpr ElementwiseFn ConvertFn();
template <typename F, typename M, typename R>
constexpr ElementwiseFn Via() {
  return &Compose<ConvertFn<F, M>(), ConvertFn<M, R>(), sizeof(F), sizeof(R)>;
}
template <typename F, typename R>
constexpr ElementwiseFn ConvertFn() {
  if constexpr (kSame<F, R> && kIsComplex<F>) {
    return &Map1<ComplexTo<R>, R, F>;
  } else if constexpr (kSame<F, R> && !kIsFloat<F>) {
    return &Map1<To<Unsigned<F>>, Unsigned<F>, Unsigned<F>>;
  } else if constexpr (kIsHalf<F>) {
    if constexpr (kSame<R, float>) {
      return &Map1<Widen, float, F>;
    } else {
      return Via<F, float, R>();
    }
  } else if constexpr (kIsHalf<R>) {
    if constexpr (kSame<F, float>) {
      return &Map1<Narrow<R>, R, float>;
    } else if constexpr (kSame<F, double>) {
      return &Compose<&Map1<NarrowToOdd, float, double>, ConvertFn<float, R>(), sizeof(F),
                      sizeof(R)>;
    } else if constexpr (kSame<F, C128>) {
      return Via<F, double, R>();
    } else {
      return Via<F, float, R>();
    }
  } else if constexpr (kIsComplex<F>) {
    using Part = decltype(F::re);
    if constexpr (kIsComplex<R> || kSame<R, Part>) {
      return &Map1<ComplexTo<R>, R, F>;
    } else {
      return Via<F, Part, R>();
    }
  } else if constexpr (kIsComplex<R>) {
    if constexpr (kIsFloat<F>) {
      return &Map1<To<R>, R, F>;
    } else {
      return Via<F, decltype(R::re), R>();
    }
  } else if constexpr (kIsInteger<F> && sizeof(F) <= 2 && (sizeof(R) == 8 || kIsFloat<R>)) {
    // To a wide type by way of one that holds the values; bytes to f32 at once: images and masks.
    if constexpr (sizeof(F) == 1 && !kIsSigned<F> && kSame<R, float>) {
      return &Map1<To<R>, R, F>;
    } else {
      return Via<F, int32_t, R>();
    }
  } else if constexpr (kSame<F, double> && kIsInteger<R> && sizeof(R) <= 2) {
    return &Compose<&Map1<NarrowToOdd, float, double>, ConvertFn<float, R>(), sizeof(F), sizeof(R)>;
  } else if constexpr (kIsInteger<F> && kIsInteger<R>) {
    // The sign of the source matters only when there are bits to fill, that of the result never.
    if constexpr (sizeof(F) == 8 && sizeof(R) <= 2) {
      return Via<F, uint32_t, R>();
    } else if constexpr (sizeof(R) > sizeof(F)) {
      return &Map1<To<Unsigned<R>>, Unsigned<R>, F>;
    } else {
      return &Map1<To<Unsigned<R>>, Unsigned<R>, Unsigned<F>>;
    }
  } else {
    return &Map1<To<R>, R, F>;
  }
}
template <typename F>
constexpr ElementwiseFn ConvertToPred() {
  if constexpr (kIsHalf<F>) {
    return &Compose<ConvertFn<F, float>(), ConvertToPred<float>(), sizeof(F), 1>;
  } else {
    using C = decltype(Canonical<op::Not, F>());
    return &Map1<ToPred, Pred, C>;
  }
}

template <DType from>
constexpr void FillConvertRow(ElementwiseFn* row) {
  using F = typename TypeOf<from>::Type;
#define PJRT_KERNEL_ENTRY(to)                                          \
  if constexpr (Contains(kTypes, from) && Contains(kTypes, DType::to)) \
    row[size_t(DType::to)] = ConvertFn<F, typename TypeOf<DType::to>::Type>();
  PJRT_KERNEL_FOR_EACH_TYPE(PJRT_KERNEL_ENTRY)
#undef PJRT_KERNEL_ENTRY
  if constexpr (Contains(kTypes, from) && Contains(kTypes, DType::kPred))
    row[size_t(DType::kPred)] = ConvertToPred<F>();
}
constexpr void FillConvert(KernelTable& table) {
#define PJRT_KERNEL_ROW(t) FillConvertRow<DType::t>(table.convert[size_t(DType::t)]);
  PJRT_KERNEL_FOR_EACH_TYPE(PJRT_KERNEL_ROW)
#undef PJRT_KERNEL_ROW
}
