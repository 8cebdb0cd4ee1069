// Reductions. Sums and products keep `kLanes` running values (a fixed number of bytes, the same for
// every dtype) and restart them every few thousand elements, so that the error of a long f32 sum
// stays small.

// Running values of a reduction: eight independent vectors of 32 bytes hide the latency of a float
// addition, integers need fewer.
template <typename A>
inline constexpr int kReduceLanes = (kIsInteger<A> ? 128 : 256) / int(sizeof(A));

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

template <typename Op, DType t>
constexpr void FillReduction(KernelTable& table, ReduceOp op) {
  using T = typename TypeOf<t>::Type;
  using C = decltype(Canonical<Op, T>());
  if constexpr (kIsHalf<T>) {
    table.reduce_inner[size_t(op)][size_t(t)] = &ReduceInner<Op, float, T>;
    table.reduce_outer[size_t(op)][size_t(t)] = &ReduceOuter<Op, float, T>;
  } else {
    table.reduce_inner[size_t(op)][size_t(t)] = &ReduceInner<Op, C, C>;
    table.reduce_outer[size_t(op)][size_t(t)] = &ReduceOuter<Op, C, C>;
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
