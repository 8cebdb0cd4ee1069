// Chains: cheap operations in a row, each on the result of the one before. The running values of a
// tile stay in vector registers from step to step: a step costs a load and an operation, and the
// jump to its code is paid once a tile.

// The steps on whole vectors of V, which hold elements of T; integers come without sign, so that
// arithmetic wraps around. Bit by bit what the functors of ops.inl give.
namespace step {

#define PJRT_KERNEL_STEP(name, expression)        \
  struct name {                                   \
    template <typename T, typename V>             \
    PJRT_KERNEL_INLINE static V Apply(V x, V y) { \
      static_cast<void>(y);                       \
      return expression;                          \
    }                                             \
  };
PJRT_KERNEL_STEP(Negate, -x)
PJRT_KERNEL_STEP(Add, x + y)
PJRT_KERNEL_STEP(Subtract, x - y)
PJRT_KERNEL_STEP(SubtractFrom, y - x)
PJRT_KERNEL_STEP(Multiply, x* y)
PJRT_KERNEL_STEP(Divide, x / y)
PJRT_KERNEL_STEP(DivideInto, y / x)
PJRT_KERNEL_STEP(And, x& y)
PJRT_KERNEL_STEP(Or, x | y)
PJRT_KERNEL_STEP(Xor, x ^ y)
#undef PJRT_KERNEL_STEP

struct Abs {
  template <typename T, typename V>
  PJRT_KERNEL_INLINE static V Apply(V x, V) {
    return (V)((Vector<Unsigned<T>>)x & (Unsigned<T>(-1) >> 1));
  }
};
struct Maximum {
  template <typename T, typename V>
  PJRT_KERNEL_INLINE static V Apply(V x, V y) {
    if constexpr (kIsFloat<T>) {
      using BitsOf = Vector<Unsigned<T>>;
      const V tie = (V)((BitsOf)x & (BitsOf)y);
      const V r = x > y ? x : y;
      const V s = x == y ? tie : r;
      return x != x ? x : s;
    } else {
      return (Vector<T>)x > (Vector<T>)y ? x : y;
    }
  }
};
struct Minimum {
  template <typename T, typename V>
  PJRT_KERNEL_INLINE static V Apply(V x, V y) {
    if constexpr (kIsFloat<T>) {
      using BitsOf = Vector<Unsigned<T>>;
      const V tie = (V)((BitsOf)x | (BitsOf)y);
      const V r = x < y ? x : y;
      const V s = x == y ? tie : r;
      return x != x ? x : s;
    } else {
      return (Vector<T>)x < (Vector<T>)y ? x : y;
    }
  }
};
struct ShiftLeft {
  template <typename T, typename V>
  PJRT_KERNEL_INLINE static V Apply(V x, V y) {
    return y < op::kWidth<Unsigned<T>> ? x << (y & (op::kWidth<Unsigned<T>> - 1)) : V{};
  }
};
struct ShiftRightLogical {
  template <typename T, typename V>
  PJRT_KERNEL_INLINE static V Apply(V x, V y) {
    return y < op::kWidth<Unsigned<T>> ? x >> (y & (op::kWidth<Unsigned<T>> - 1)) : V{};
  }
};

}  // namespace step

// A vector, or its first `n` elements.
template <bool whole, typename E>
PJRT_KERNEL_INLINE Vector<E> LoadSome(const E* p, int64_t n) {
  if constexpr (whole) {
    return Load(p);
  } else {
    if (n == 1) return Splat(*p);  // the other lanes do not matter; see AllScalars
    Vector<E> v{};
    for (int64_t i = 0; i < n; ++i) v[i] = p[i];
    return v;
  }
}

template <typename Step, typename T, bool whole, int vectors, typename E>
PJRT_KERNEL_INLINE void TakeStep(Vector<E> (&value)[vectors], const E* in, int64_t advance,
                                 int64_t n) {
  PJRT_KERNEL_UNROLL
  for (int v = 0; v < vectors; ++v)
    value[v] = Step::template Apply<T>(value[v], LoadSome<whole>(in + v * advance, n));
}

// The chain on `vectors` vectors from element `at` on; or on `n` elements, fewer than a vector has.
template <typename T, DType t, bool whole, int vectors, typename E>
PJRT_KERNEL_INLINE void ChainTile(const E* first, const ChainStep* steps, int count,
                                  const Vector<E>* scalars, int64_t at, int64_t n) {
  Vector<E> value[vectors];
  PJRT_KERNEL_UNROLL
  for (int v = 0; v < vectors; ++v) value[v] = LoadSome<whole>(first + at + v * kLanes<E>, n);
  for (int s = 0; s < count; ++s) {
    const ChainStep& one = steps[s];
    const E* in = static_cast<const E*>(one.in) + at;
    int64_t advance = kLanes<E>;
    if (one.scalar) in = reinterpret_cast<const E*>(scalars + s), advance = 0;
    switch (one.op) {
#define PJRT_PLUGIN_CHAIN_STEP(name, operation, swapped, types)                              \
  case ChainOp::k##name:                                                                     \
    if constexpr (Contains(types, t)) TakeStep<step::name, T, whole>(value, in, advance, n); \
    break;
#include "reference/kernels/chain.inc"
#undef PJRT_PLUGIN_CHAIN_STEP
    }
    if (one.out == nullptr) continue;
    E* out = static_cast<E*>(one.out) + at;
    if constexpr (whole) {
      PJRT_KERNEL_UNROLL
      for (int v = 0; v < vectors; ++v) Store(out + v * kLanes<E>, value[v]);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = value[0][i];
    }
  }
}

template <DType t>
void Chain(const void* in, const ChainStep* steps, int count, int64_t n) {
  using T = typename TypeOf<t>::Type;
  using E = decltype(Canonical<op::Add, T>());
  constexpr int kTileVectors = 8;
  constexpr int64_t kTile = kTileVectors * kLanes<E>;
  const E* first = static_cast<const E*>(in);
  Vector<E> scalars[kMaxChainSteps];
  for (int s = 0; s < count; ++s)
    if (steps[s].scalar) scalars[s] = Splat(*static_cast<const E*>(steps[s].in));
  int64_t at = 0;
  for (; n - at >= kTile; at += kTile)
    ChainTile<T, t, true, kTileVectors>(first, steps, count, scalars, at, kTile);
  for (; n - at >= kLanes<E>; at += kLanes<E>)
    ChainTile<T, t, true, 1>(first, steps, count, scalars, at, kLanes<E>);
  if (at < n) ChainTile<T, t, false, 1>(first, steps, count, scalars, at, n - at);
}

constexpr void FillChain(KernelTable& table) {
  table.chain[size_t(DType::kS32)] = &Chain<DType::kS32>;
  table.chain[size_t(DType::kU32)] = &Chain<DType::kU32>;
  table.chain[size_t(DType::kF32)] = &Chain<DType::kF32>;
  table.chain[size_t(DType::kF64)] = &Chain<DType::kF64>;
}
