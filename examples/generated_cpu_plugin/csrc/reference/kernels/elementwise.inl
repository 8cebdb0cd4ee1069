// The table of elementwise kernels: which functor serves which operation and dtype.

template <DType t>
struct TypeOf;
#define PJRT_KERNEL_TYPE(dtype, type) \
  template <>                         \
  struct TypeOf<DType::dtype> {       \
    using Type = type;                \
  };
PJRT_KERNEL_TYPE(kPred, Pred)
PJRT_KERNEL_TYPE(kS8, int8_t)
PJRT_KERNEL_TYPE(kS16, int16_t)
PJRT_KERNEL_TYPE(kS32, int32_t)
PJRT_KERNEL_TYPE(kS64, int64_t)
PJRT_KERNEL_TYPE(kU8, uint8_t)
PJRT_KERNEL_TYPE(kU16, uint16_t)
PJRT_KERNEL_TYPE(kU32, uint32_t)
PJRT_KERNEL_TYPE(kU64, uint64_t)
PJRT_KERNEL_TYPE(kF16, F16)
PJRT_KERNEL_TYPE(kBF16, BF16)
PJRT_KERNEL_TYPE(kF32, float)
PJRT_KERNEL_TYPE(kF64, double)
PJRT_KERNEL_TYPE(kC64, C64)
PJRT_KERNEL_TYPE(kC128, C128)
#undef PJRT_KERNEL_TYPE

// f(DType) for each dtype that has kernels.
// clang-format off
#define PJRT_KERNEL_FOR_EACH_TYPE(X)                                                              \
  X(kPred)                                                                                        \
  X(kS8)                                                                                          \
  X(kS16) X(kS32) X(kS64) X(kU8) X(kU16) X(kU32) X(kU64) X(kF16) X(kBF16) X(kF32) X(kF64) X(kC64) \
      X(kC128)
// clang-format on

// What an operation means for i1: the arithmetic of one bit that saturates.
template <typename Op>
struct PredOp {
  using Type = Op;
};
template <>
struct PredOp<op::Add> {
  using Type = op::Or;
};
template <>
struct PredOp<op::Multiply> {
  using Type = op::And;
};
template <>
struct PredOp<op::Not> {
  using Type = op::PredNot;
};

// The element type whose instance serves T: for select and for what only moves bits, the unsigned
// integer.
template <typename Op, typename T>
constexpr auto Canonical() {
  if constexpr (kSame<Op, op::Select> && sizeof(T) <= 8) {
    return Unsigned<T>{};
  } else if constexpr (kIsInteger<T> && Op::kBits) {
    return Unsigned<T>{};
  } else {
    return T{};
  }
}

// Each functor serves the portable table or those of the ISAs.
template <typename Op, typename T>
inline constexpr bool kServedHere =
    Op::template kVector<decltype(Canonical<Op, T>())> == kVectorKernels;

// The operation with its operands in the other order: x < y is y > x.
template <typename Op>
struct Mirror {
  using Type = void;
};
template <>
struct Mirror<op::CompareLt> {
  using Type = op::CompareGt;
};
template <>
struct Mirror<op::CompareLe> {
  using Type = op::CompareGe;
};
template <>
struct Mirror<op::CompareTotalLt> {
  using Type = op::CompareTotalGt;
};
template <>
struct Mirror<op::CompareTotalLe> {
  using Type = op::CompareTotalGe;
};
template <ElementwiseFn kernel>
void Mirrored(const void* const* in, uint32_t scalars, void* out, int64_t n) {
  const void* const mirrored[] = {in[1], in[0]};
  kernel(mirrored, (scalars & 1) << 1 | ((scalars >> 1) & 1), out, n);
}

// The smaller of `high` and the larger of `low` and x, block by block on the stack.
PJRT_KERNEL_NOINLINE inline void ClampBlocks(ElementwiseFn maximum, ElementwiseFn minimum,
                                             int64_t bytes, const void* const* in, uint32_t scalars,
                                             void* out, int64_t n) {
  constexpr int64_t kBlock = 256;
  alignas(64) char middle[kBlock * 8];
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = n - at < kBlock ? n - at : kBlock;
    const char* from[3];
    for (int j = 0; j < 3; ++j)
      from[j] = static_cast<const char*>(in[j]) + ((scalars >> j) & 1 ? 0 : at * bytes);
    const void* low[] = {from[0], from[1]};
    maximum(low, scalars & 3, middle, count);
    const void* high[] = {middle, from[2]};
    minimum(high, (scalars >> 2) << 1, static_cast<char*>(out) + at * bytes, count);
  }
}
template <ElementwiseFn maximum, ElementwiseFn minimum, int bytes>
void ClampBy(const void* const* in, uint32_t scalars, void* out, int64_t n) {
  ClampBlocks(maximum, minimum, bytes, in, scalars, out, n);
}

template <typename Op, typename T, int arity>
constexpr ElementwiseFn Direct() {
  using C = decltype(Canonical<Op, T>());
  if constexpr (!kServedHere<Op, T>) {
    return nullptr;
  } else if constexpr (!kSame<typename Mirror<Op>::Type, void>) {
    return &Mirrored<Direct<typename Mirror<Op>::Type, T, 2>()>;
  } else if constexpr (kSame<Op, op::CompareTotalEq>) {
    return Direct<op::CompareEq, Unsigned<T>, 2>();  // equal in the total order: the same bits
  } else if constexpr (kSame<Op, op::CompareTotalNe>) {
    return Direct<op::CompareNe, Unsigned<T>, 2>();
  } else if constexpr (kSame<Op, op::Clamp> && !kSame<T, float>) {
    return &ClampBy<Direct<op::Maximum, T, 2>(), Direct<op::Minimum, T, 2>(), sizeof(T)>;
  } else if constexpr (arity == 1) {
    return &Map1<Op, decltype(Op::Apply(C{})), C>;
  } else if constexpr (kSame<Op, op::Select>) {
    return &Map3<Op, C, Pred, C, C>;
  } else if constexpr (arity == 2) {
    return &Map2<Op, decltype(Op::Apply(C{}, C{})), C, C>;
  } else {
    return &Map3<Op, C, C, C, C>;
  }
}

template <typename Op, int arity, DType t>
constexpr ElementwiseFn Entry() {
  using T = typename TypeOf<t>::Type;
  if constexpr (t == DType::kPred) {
    return Direct<typename PredOp<Op>::Type, T, arity>();
  } else if constexpr (kIsHalf<T> && !kSame<Op, op::Select>) {
    if constexpr (!kServedHere<Op, float>) {
      return nullptr;
    } else if constexpr (arity == 1) {
      return &ThroughF32<Direct<Op, float, 1>(), T, 1, kSame<decltype(Op::Apply(0.0f)), float>>;
    } else if constexpr (arity == 2) {
      return &ThroughF32<Direct<Op, float, 2>(), T, 2,
                         kSame<decltype(Op::Apply(0.0f, 0.0f)), float>>;
    } else {
      return &ThroughF32<Direct<Op, float, 3>(), T, 3, true>;
    }
  } else {
    return Direct<Op, T, arity>();
  }
}

// The functions of complex numbers are in complex.inl, once for all ISAs.
template <typename Op>
inline constexpr DTypeSet kElsewhere = 0;
#define PJRT_KERNEL_ELSEWHERE(name) \
  template <>                       \
  inline constexpr DTypeSet kElsewhere<op::name> = kComplexTypes;
PJRT_KERNEL_ELSEWHERE(Abs)
PJRT_KERNEL_ELSEWHERE(Atan2)
PJRT_KERNEL_ELSEWHERE(Cbrt)
PJRT_KERNEL_ELSEWHERE(Cosine)
PJRT_KERNEL_ELSEWHERE(Divide)
PJRT_KERNEL_ELSEWHERE(Exponential)
PJRT_KERNEL_ELSEWHERE(ExponentialMinusOne)
PJRT_KERNEL_ELSEWHERE(Log)
PJRT_KERNEL_ELSEWHERE(LogPlusOne)
PJRT_KERNEL_ELSEWHERE(Logistic)
PJRT_KERNEL_ELSEWHERE(Power)
PJRT_KERNEL_ELSEWHERE(Rsqrt)
PJRT_KERNEL_ELSEWHERE(Sign)
PJRT_KERNEL_ELSEWHERE(Sine)
PJRT_KERNEL_ELSEWHERE(Sqrt)
PJRT_KERNEL_ELSEWHERE(Tan)
PJRT_KERNEL_ELSEWHERE(Tanh)
#undef PJRT_KERNEL_ELSEWHERE

template <typename Op, int arity, DTypeSet types>
constexpr void FillRow(ElementwiseFn* row) {
  constexpr DTypeSet here = types & kTypes & ~kElsewhere<Op>;
#define PJRT_KERNEL_ENTRY(t) \
  if constexpr (Contains(here, DType::t)) row[size_t(DType::t)] = Entry<Op, arity, DType::t>();
  PJRT_KERNEL_FOR_EACH_TYPE(PJRT_KERNEL_ENTRY)
#undef PJRT_KERNEL_ENTRY
}

constexpr void FillElementwise(KernelTable& table) {
#define PJRT_PLUGIN_KERNEL(name, arity, types) \
  FillRow<op::name, arity, (types)>(table.elementwise[size_t(ElementwiseOp::k##name)]);
#include "reference/kernels/elementwise.inc"
#undef PJRT_PLUGIN_KERNEL
}
