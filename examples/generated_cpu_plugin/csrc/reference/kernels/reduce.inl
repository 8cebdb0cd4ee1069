// Reductions. Sums and products keep `kLanes` running values (a fixed number of bytes, the same for
// every dtype) and restart them every few thousand elements, so that the error of a long f32 sum
// stays small.

// Running values of a reduction: eight independent vectors of 32 bytes hide the latency of a float
// addition.
template <typename A>
inline constexpr int kReduceLanes = 256 / int(sizeof(A));

template <typename T>
struct AccumulatedOf {
  using Type = T;
};
template <>
struct AccumulatedOf<F16> {
  using Type = float;
};
template <>
struct AccumulatedOf<BF16> {
  using Type = float;
};
template <typename T>
using Accumulated = typename AccumulatedOf<T>::Type;

template <typename Op, typename A>
PJRT_KERNEL_INLINE A FoldLanes(A* lanes) {
  for (int width = kReduceLanes<A> / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) lanes[i] = Op::Apply(lanes[i], lanes[i + width]);
  return lanes[0];
}

// What one element becomes before it is folded.
template <typename A, typename T>
PJRT_KERNEL_INLINE A Accumulator(T x) {
  if constexpr (kSame<A, T>) {
    return x;
  } else {
    return Widen::Apply(x);
  }
}

template <typename Op, typename A, typename T>
PJRT_KERNEL_INLINE A ReduceRow(const T* in, int64_t n) {
  constexpr int count = kReduceLanes<A>;
  constexpr int64_t kRestart = 64 * count;
  A total = Accumulator<A>(in[0]);
  int64_t i = 1;
  if (n > 2 * count) {
    bool first = true;
    i = 0;
    while (n - i >= count) {
      A lanes[count];
      for (int j = 0; j < count; ++j) lanes[j] = Accumulator<A>(in[i + j]);
      const int64_t end = n - i < kRestart ? n : i + kRestart;
      for (i += count; end - i >= count; i += count)
        for (int j = 0; j < count; ++j) lanes[j] = Op::Apply(lanes[j], Accumulator<A>(in[i + j]));
      const A part = FoldLanes<Op>(lanes);
      total = first ? part : Op::Apply(total, part);
      first = false;
    }
  }
  for (; i < n; ++i) total = Op::Apply(total, Accumulator<A>(in[i]));
  return total;
}

template <typename Op, typename A, typename T>
void ReduceInner(const void* in, int64_t rows, int64_t n, int64_t row_stride, void* out) {
  const T* row = static_cast<const T*>(in);
  A* o = static_cast<A*>(out);
  if (n <= 0) return;
  for (int64_t r = 0; r < rows; ++r, row += row_stride)
    o[r] = Op::Apply(o[r], ReduceRow<Op, A>(row, n));
}

// Folds `rows` rows, `n` columns wide (n <= count, whole strips when `fixed`), into `lanes`, which
// it overwrites. Many rows are halved and the halves folded: the error of a sum grows with the
// logarithm of their number.
template <typename Op, typename A, bool fixed, typename T>
PJRT_KERNEL_NOINLINE void ReduceStrip(const T* in, int64_t rows, int64_t n, int64_t row_stride,
                                      A* lanes) {
  constexpr int count = kReduceLanes<A>;
  constexpr int64_t kInOrder = 64;
  const int64_t width = fixed ? count : n;
  A fold[count];
  if (rows > kInOrder) {
    const int64_t half = rows / (2 * kInOrder) * kInOrder;
    const int64_t first = half > 0 ? half : kInOrder;
    ReduceStrip<Op, A, fixed>(in, first, n, row_stride, lanes);
    ReduceStrip<Op, A, fixed>(in + first * row_stride, rows - first, n, row_stride, fold);
    for (int64_t j = 0; j < width; ++j) lanes[j] = Op::Apply(lanes[j], fold[j]);
    return;
  }
  for (int64_t j = 0; j < width; ++j) fold[j] = Accumulator<A>(in[j]);
  for (int64_t r = 1; r < rows; ++r) {
    in += row_stride;
    for (int64_t j = 0; j < width; ++j) fold[j] = Op::Apply(fold[j], Accumulator<A>(in[j]));
  }
  for (int64_t j = 0; j < width; ++j) lanes[j] = fold[j];
}

template <typename Op, typename A, typename T>
void ReduceOuter(const void* in, int64_t rows, int64_t n, int64_t row_stride, void* out) {
  constexpr int count = kReduceLanes<A>;
  if (rows <= 0) return;
  const T* matrix = static_cast<const T*>(in);
  A* o = static_cast<A*>(out);
  A lanes[count];
  for (; n >= count; n -= count, matrix += count, o += count) {
    ReduceStrip<Op, A, true>(matrix, rows, count, row_stride, lanes);
    for (int j = 0; j < count; ++j) o[j] = Op::Apply(o[j], lanes[j]);
  }
  if (n > 0) {
    ReduceStrip<Op, A, false>(matrix, rows, n, row_stride, lanes);
    for (int64_t j = 0; j < n; ++j) o[j] = Op::Apply(o[j], lanes[j]);
  }
}

// ---- By the elementwise kernel ----

// What folds two arrays of elements of `bytes` bytes into one, and what turns the input's elements
// of `from_bytes` into such, when that is another type.
struct Fold {
  ElementwiseFn fold, widen;
  int64_t from_bytes, bytes;

  PJRT_KERNEL_INLINE void Into(void* to, const void* x, int64_t n) const {
    const void* both[] = {to, x};
    fold(both, 0, to, n);
  }
};
inline constexpr int64_t kFoldBytes = 2048;  // of a block of running values
using FoldBlock = char[kFoldBytes];

// A row's part as elements that can be folded: itself, or widened in `block`.
PJRT_KERNEL_INLINE const void* Foldable(const Fold& f, const char* in, int64_t n, char* block) {
  if (f.widen == nullptr) return in;
  const void* from = in;
  f.widen(&from, 0, block, n);
  return block;
}

// Folds `rows` >= 1 rows of `n` elements, at most a block, `stride` bytes apart, into `total`,
// which it overwrites. Groups of rows have a sum of their own, so that the error of a long sum
// stays small.
PJRT_KERNEL_NOINLINE inline void FoldRows(const Fold& f, const char* in, int64_t rows, int64_t n,
                                          int64_t stride, char* total) {
  constexpr int64_t kGroup = 64;
  alignas(64) FoldBlock part, block;
  for (int64_t first = 0; first < rows; first += kGroup) {
    char* to = first == 0 ? total : part;
    __builtin_memcpy(to, Foldable(f, in, n, block), size_t(n * f.bytes));
    in += stride;
    const int64_t last = rows - first < kGroup ? rows : first + kGroup;
    for (int64_t r = first + 1; r < last; ++r, in += stride)
      f.Into(to, Foldable(f, in, n, block), n);
    if (first > 0) f.Into(total, part, n);
  }
}

// Short rows: `count` rows, at most a block, as columns of a block each.
template <typename T>
PJRT_KERNEL_NOINLINE void TakeColumn(const char* in, int64_t count, int64_t stride, char* to) {
  for (int64_t r = 0; r < count; ++r)
    __builtin_memcpy(to + r * int64_t(sizeof(T)), in + r * stride, sizeof(T));
}
inline void TakeColumn(int64_t bytes, const char* in, int64_t count, int64_t stride, char* to) {
  if (bytes == 1) return TakeColumn<uint8_t>(in, count, stride, to);
  if (bytes == 2) return TakeColumn<uint16_t>(in, count, stride, to);
  if (bytes == 4) return TakeColumn<uint32_t>(in, count, stride, to);
  if (bytes == 8) return TakeColumn<uint64_t>(in, count, stride, to);
  return TakeColumn<C128>(in, count, stride, to);
}

PJRT_KERNEL_NOINLINE inline void FoldInner(const Fold& f, const void* in, int64_t rows, int64_t n,
                                           int64_t row_stride, void* out) {
  constexpr int64_t kShortRow = 256;  // about where halving a block costs as much
  const int64_t lanes = kFoldBytes / f.bytes;
  const int64_t stride = row_stride * f.from_bytes;
  const char* from = static_cast<const char*>(in);
  char* to = static_cast<char*>(out);
  alignas(64) FoldBlock total, rest;
  if (n <= kShortRow) {
    constexpr int64_t kColumn = 128;  // short enough for the rows to stay in the cache
    for (int64_t r = 0; r < rows; r += kColumn, from += kColumn * stride, to += kColumn * f.bytes) {
      const int64_t count = rows - r < kColumn ? rows - r : kColumn;
      for (int64_t j = 0; j < n; ++j) {
        TakeColumn(f.from_bytes, from + j * f.from_bytes, count, stride, rest);
        f.Into(to, Foldable(f, rest, count, total), count);
      }
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r, from += stride, to += f.bytes) {
    // Whole blocks, then what is left of the row, then the block by halves.
    int64_t left = n < lanes ? n : lanes;
    FoldRows(f, from, n / left, left, left * f.from_bytes, total);
    const int64_t tail = n % left;
    if (tail > 0) f.Into(total, Foldable(f, from + (n - tail) * f.from_bytes, tail, rest), tail);
    while (left > 1) {
      const int64_t half = left / 2;
      f.Into(total, total + (left - half) * f.bytes, half);
      left -= half;
    }
    f.Into(to, total, 1);
  }
}

PJRT_KERNEL_NOINLINE inline void FoldOuter(const Fold& f, const void* in, int64_t rows, int64_t n,
                                           int64_t row_stride, void* out) {
  const int64_t lanes = kFoldBytes / f.bytes;
  if (rows <= 0) return;
  alignas(64) FoldBlock total;
  for (int64_t j = 0; j < n; j += lanes) {
    const int64_t width = n - j < lanes ? n - j : lanes;
    FoldRows(f, static_cast<const char*>(in) + j * f.from_bytes, rows, width,
             row_stride * f.from_bytes, total);
    f.Into(static_cast<char*>(out) + j * f.bytes, total, width);
  }
}

template <ElementwiseFn fold, ElementwiseFn widen, int from_bytes, int bytes>
struct FoldBy {
  static constexpr Fold kFold = {fold, widen, from_bytes, bytes};
  static void Inner(const void* in, int64_t rows, int64_t n, int64_t row_stride, void* out) {
    FoldInner(kFold, in, rows, n, row_stride, out);
  }
  static void Outer(const void* in, int64_t rows, int64_t n, int64_t row_stride, void* out) {
    FoldOuter(kFold, in, rows, n, row_stride, out);
  }
};

// ---- The table ----

// The reductions that programs spend time in have loops of their own.
template <typename Op, typename T>
inline constexpr bool kOwnLoop =
    (kIsFloat<T> || kIsHalf<T>) &&
    (kSame<Op, op::Add> || (kSame<Op, op::Maximum> && !kSame<T, double>));
// Counting is summing rows of s32; down its columns the fold is the faster one.
template <typename Op, typename T>
inline constexpr bool kOwnRows = kSame<Op, op::Add> && kSame<T, int32_t>;

template <typename Op, DType t>
constexpr void FillReduction(KernelTable& table, ReduceOp op) {
  using T = typename TypeOf<t>::Type;
  ReduceFn& inner = table.reduce_inner[size_t(op)][size_t(t)];
  ReduceFn& outer = table.reduce_outer[size_t(op)][size_t(t)];
  if constexpr (kOwnLoop<Op, T>) {
    using A = Accumulated<T>;
    inner = &ReduceInner<Op, A, T>;
    outer = &ReduceOuter<Op, A, T>;
  } else if constexpr (kIsHalf<T>) {
    using By = FoldBy<Direct<Op, float, 2>(), &Map1<Widen, float, T>, sizeof(T), sizeof(float)>;
    inner = &By::Inner;
    outer = &By::Outer;
  } else {
    using By = FoldBy<Direct<Op, T, 2>(), nullptr, sizeof(T), sizeof(T)>;
    inner = &By::Inner;
    outer = &By::Outer;
    if constexpr (kOwnRows<Op, T>) {
      using U = Unsigned<T>;  // a sum that overflows wraps around
      inner = &ReduceInner<Op, U, U>;
    }
  }
}
template <typename Op, DTypeSet types>
constexpr void FillReductions(KernelTable& table, ReduceOp op) {
  if constexpr (Contains(kTypes, DType::kPred))
    FillReduction<typename PredOp<Op>::Type, DType::kPred>(table, op);
#define PJRT_KERNEL_ENTRY(t) \
  if constexpr (Contains(types & kTypes, DType::t)) FillReduction<Op, DType::t>(table, op);
  PJRT_KERNEL_FOR_EACH_TYPE(PJRT_KERNEL_ENTRY)
#undef PJRT_KERNEL_ENTRY
}
constexpr void FillReduce(KernelTable& table) {
  constexpr DTypeSet numbers = kIntegerTypes | kFloatTypes;
  FillReductions<op::Add, numbers | kComplexTypes>(table, ReduceOp::kAdd);
  FillReductions<op::Multiply, numbers | kComplexTypes>(table, ReduceOp::kMultiply);
  FillReductions<op::Maximum, numbers>(table, ReduceOp::kMaximum);
  FillReductions<op::Minimum, numbers>(table, ReduceOp::kMinimum);
  FillReductions<op::And, kIntegerTypes>(table, ReduceOp::kAnd);
  FillReductions<op::Or, kIntegerTypes>(table, ReduceOp::kOr);
  FillReductions<op::Xor, kIntegerTypes>(table, ReduceOp::kXor);
}
