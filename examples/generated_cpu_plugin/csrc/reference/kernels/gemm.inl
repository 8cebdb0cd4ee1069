// Matrix product. A register tile of kGemmRows x (kGemmVectors vectors) of C runs over k with A's
// elements broadcast and B's rows as vectors. Operands are packed, block by block, into the order
// in which the tile reads them; a product that is small, or whose A has few rows, reads them where
// they are.

template <typename T>
inline constexpr int kTileColumns = kGemmVectors * kLanes<T>;

// Blocks: a packed panel of B (kBlockK x kTileColumns) lives in L1, packed A (kBlockM x kBlockK) in
// L2, packed B in L3.
inline constexpr int64_t kBlockK = 256;
inline constexpr int64_t kBlockM = 24 * kGemmRows;
inline constexpr int64_t kBlockN = 2048;

// `rows` rows and `vectors` vectors of columns of C: c[i][j] (+)= sum over p of a[i * a_row + p *
// a_col] * b[p * b_row + j].
template <typename T, int rows, int vectors>
PJRT_KERNEL_NOINLINE void GemmTile(int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b,
                                   int64_t b_row, T* c, int64_t c_row, bool add) {
  Vector<T> sum[rows][vectors] = {};
  for (int64_t p = 0; p < k; ++p, a += a_col, b += b_row) {
    Vector<T> bv[vectors];
    PJRT_KERNEL_UNROLL
    for (int v = 0; v < vectors; ++v) bv[v] = Load(b + v * kLanes<T>);
    PJRT_KERNEL_UNROLL
    for (int i = 0; i < rows; ++i) {
      const Vector<T> av = Splat(a[i * a_row]);
      PJRT_KERNEL_UNROLL
      for (int v = 0; v < vectors; ++v) sum[i][v] += av * bv[v];
    }
  }
  PJRT_KERNEL_UNROLL
  for (int i = 0; i < rows; ++i) {
    PJRT_KERNEL_UNROLL
    for (int v = 0; v < vectors; ++v) {
      T* at = c + i * c_row + v * kLanes<T>;
      Store(at, add ? Load(at) + sum[i][v] : sum[i][v]);
    }
  }
}

template <typename T>
using GemmTileFn = void (*)(int64_t, const T*, int64_t, int64_t, const T*, int64_t, T*, int64_t,
                            bool);
// The tile for 1 to kGemmRows rows.
template <typename T, int vectors>
PJRT_KERNEL_INLINE GemmTileFn<T> TileOfRows(int64_t rows) {
  static_assert(kGemmRows <= 8);
#define PJRT_KERNEL_TILE(r) \
  case r:                   \
    return &GemmTile<T, (r < kGemmRows ? r : kGemmRows), vectors>;
  switch (rows) {
    PJRT_KERNEL_TILE(1)
    PJRT_KERNEL_TILE(2)
    PJRT_KERNEL_TILE(3)
    PJRT_KERNEL_TILE(4)
    PJRT_KERNEL_TILE(5)
    PJRT_KERNEL_TILE(6)
    PJRT_KERNEL_TILE(7)
    default:
      return &GemmTile<T, kGemmRows, vectors>;
  }
#undef PJRT_KERNEL_TILE
}

template <typename T, typename S>
PJRT_KERNEL_INLINE T PackedValue(S x) {
  if constexpr (kSame<T, S>) {
    return x;
  } else {
    return Widen::Apply(x);
  }
}

// Rows of A in groups of kGemmRows: group g, then p, then the row in the group. The last group is
// narrower.
template <typename T, typename S>
PJRT_KERNEL_NOINLINE void PackA(int64_t m, int64_t k, const S* a, int64_t a_row, int64_t a_col,
                                T* packed) {
  for (int64_t i = 0; i < m; i += kGemmRows, a += kGemmRows * a_row) {
    const int64_t rows = m - i < kGemmRows ? m - i : kGemmRows;
    if (rows == kGemmRows) {
      for (int64_t p = 0; p < k; ++p, packed += kGemmRows)
        for (int r = 0; r < kGemmRows; ++r) packed[r] = PackedValue<T>(a[r * a_row + p * a_col]);
    } else {
      for (int64_t p = 0; p < k; ++p, packed += rows)
        for (int64_t r = 0; r < rows; ++r) packed[r] = PackedValue<T>(a[r * a_row + p * a_col]);
    }
  }
}
// Columns of B in panels of kTileColumns, padded with zeros: panel, then p, then the column in the
// panel.
template <typename T, typename S>
PJRT_KERNEL_NOINLINE void PackB(int64_t k, int64_t n, const S* b, int64_t b_row, int64_t b_col,
                                T* packed) {
  constexpr int kWidth = kTileColumns<T>;
  for (int64_t j = 0; j < n; j += kWidth, b += kWidth * b_col) {
    const int64_t columns = n - j < kWidth ? n - j : kWidth;
    if (columns == kWidth && b_col == 1) {
      for (int64_t p = 0; p < k; ++p, packed += kWidth)
        for (int c = 0; c < kWidth; ++c) packed[c] = PackedValue<T>(b[p * b_row + c]);
    } else {
      // Column by column within a few rows: reads run along whichever stride is short.
      for (int64_t p0 = 0; p0 < k; p0 += 16) {
        const int64_t p1 = k - p0 < 16 ? k : p0 + 16;
        for (int64_t c = 0; c < kWidth; ++c)
          for (int64_t p = p0; p < p1; ++p)
            packed[p * kWidth + c] = c < columns ? PackedValue<T>(b[p * b_row + c * b_col]) : T(0);
      }
      packed += k * kWidth;
    }
  }
}

// At most kGemmRows rows and kTileColumns columns of C. The tile writes whole vectors; what is no
// whole tile and no whole vector goes through a buffer.
template <typename T>
PJRT_KERNEL_INLINE void GemmRowsOfPanel(int64_t rows, int64_t columns, int64_t k, const T* a,
                                        int64_t a_row, int64_t a_col, const T* b, int64_t b_row,
                                        T* c, int64_t c_row, bool add) {
  constexpr int kWidth = kTileColumns<T>;
  const bool narrow = columns <= kLanes<T>;
  const GemmTileFn<T> tile = narrow ? TileOfRows<T, 1>(rows) : TileOfRows<T, kGemmVectors>(rows);
  if (columns == (narrow ? kLanes<T> : kWidth)) {
    tile(k, a, a_row, a_col, b, b_row, c, c_row, add);
    return;
  }
  T buffer[kGemmRows * kWidth];
  tile(k, a, a_row, a_col, b, b_row, buffer, kWidth, false);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      c[i * c_row + j] = buffer[i * kWidth + j] + (add ? c[i * c_row + j] : T(0));
}

PJRT_KERNEL_INLINE int64_t RoundUp(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
PJRT_KERNEL_INLINE int64_t Least(int64_t x, int64_t y) { return x < y ? x : y; }

// T is the type of the arithmetic and of C, S that of A and B.
template <typename T, typename S>
void GemmPacked(const GemmArgs& g, T* scratch) {
  constexpr int kWidth = kTileColumns<T>;
  const S* a = static_cast<const S*>(g.a);
  const S* b = static_cast<const S*>(g.b);
  T* c = static_cast<T*>(g.c);
  T* packed_a = scratch;
  T* packed_b = scratch + kBlockM * kBlockK;
  for (int64_t j0 = 0; j0 < g.n; j0 += kBlockN) {
    const int64_t n = Least(kBlockN, g.n - j0);
    for (int64_t p0 = 0; p0 < g.k; p0 += kBlockK) {
      const int64_t k = Least(kBlockK, g.k - p0);
      const bool add = g.accumulate || p0 > 0;
      PackB<T, S>(k, n, b + p0 * g.b_row + j0 * g.b_col, g.b_row, g.b_col, packed_b);
      for (int64_t i0 = 0; i0 < g.m; i0 += kBlockM) {
        const int64_t m = Least(kBlockM, g.m - i0);
        PackA<T, S>(m, k, a + i0 * g.a_row + p0 * g.a_col, g.a_row, g.a_col, packed_a);
        for (int64_t j = 0; j < n; j += kWidth) {
          const int64_t columns = Least(kWidth, n - j);
          for (int64_t i = 0; i < m; i += kGemmRows) {
            const int64_t rows = Least(kGemmRows, m - i);
            GemmRowsOfPanel<T>(rows, columns, k, packed_a + i * k, 1, rows, packed_b + j * k,
                               kWidth, c + (i0 + i) * g.c_row + j0 + j, g.c_row, add);
          }
        }
      }
    }
  }
}

// Reads A in place, and B too where it can: its rows are dense and the panel has whole vectors.
template <typename T>
void GemmDirect(const GemmArgs& g, T* scratch) {
  constexpr int kWidth = kTileColumns<T>;
  const T* a = static_cast<const T*>(g.a);
  T* c = static_cast<T*>(g.c);
  int64_t columns = 0;
  for (int64_t j = 0; j < g.n; j += columns) {
    columns = Least(kWidth, g.n - j);
    if (columns < kWidth && columns > kLanes<T>) columns = kLanes<T>;
    const T* b = static_cast<const T*>(g.b) + j * g.b_col;
    int64_t b_row = g.b_row;
    if (g.b_col != 1 || (columns < kWidth && columns != kLanes<T>)) {
      PackB<T, T>(g.k, columns, b, g.b_row, g.b_col, scratch);
      b = scratch;
      b_row = kWidth;
    }
    for (int64_t i = 0; i < g.m; i += kGemmRows)
      GemmRowsOfPanel<T>(Least(kGemmRows, g.m - i), columns, g.k, a + i * g.a_row, g.a_row, g.a_col,
                         b, b_row, c + i * g.c_row + j, g.c_row, g.accumulate);
  }
}

// The product where one of A's and one of B's strides is 1 along k: dot products of dense runs.
template <typename T>
void GemmDot(const GemmArgs& g) {
  constexpr int kDots = 4;
  const T* a = static_cast<const T*>(g.a);
  const T* b = static_cast<const T*>(g.b);
  T* c = static_cast<T*>(g.c);
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) {
      const T* x = a + i * g.a_row;
      const T* y = b + j * g.b_col;
      Vector<T> sum[kDots] = {};
      int64_t p = 0;
      for (; p + kDots * kLanes<T> <= g.k; p += kDots * kLanes<T>) {
        PJRT_KERNEL_UNROLL
        for (int v = 0; v < kDots; ++v)
          sum[v] += Load(x + p + v * kLanes<T>) * Load(y + p + v * kLanes<T>);
      }
      const Vector<T> all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
      T total = 0;
      for (int l = 0; l < kLanes<T>; ++l) total += all[l];
      for (; p < g.k; ++p) total += x[p] * y[p];
      c[i * g.c_row + j] = g.accumulate ? c[i * g.c_row + j] + total : total;
    }
}

// The product for one or two rows, where B's rows are dense: B is read once, along its rows, and
// C's strip stays in L1.
template <typename T>
void GemmThin(const GemmArgs& g) {
  constexpr int64_t kStrip = 4096 / int64_t(sizeof(T));
  constexpr int kRows = 4;
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j0 = 0; j0 < g.n; j0 += kStrip) {
      const int64_t n = Least(kStrip, g.n - j0);
      const T* a = static_cast<const T*>(g.a) + i * g.a_row;
      const T* b = static_cast<const T*>(g.b) + j0;
      T* c = static_cast<T*>(g.c) + i * g.c_row + j0;
      if (!g.accumulate)
        for (int64_t j = 0; j < n; ++j) c[j] = 0;
      int64_t p = 0;
      for (; p + kRows <= g.k; p += kRows, a += kRows * g.a_col, b += kRows * g.b_row) {
        const T a0 = a[0], a1 = a[g.a_col], a2 = a[2 * g.a_col], a3 = a[3 * g.a_col];
        const T *b0 = b, *b1 = b + g.b_row, *b2 = b + 2 * g.b_row, *b3 = b + 3 * g.b_row;
        PJRT_KERNEL_INDEPENDENT
        for (int64_t j = 0; j < n; ++j)
          c[j] += (a0 * b0[j] + a1 * b1[j]) + (a2 * b2[j] + a3 * b3[j]);
      }
      for (; p < g.k; ++p, a += g.a_col, b += g.b_row) {
        PJRT_KERNEL_INDEPENDENT
        for (int64_t j = 0; j < n; ++j) c[j] += a[0] * b[j];
      }
    }
}

template <typename T>
void ClearRows(const GemmArgs& g) {
  T* c = static_cast<T*>(g.c);
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) c[i * g.c_row + j] = T{};
}

// Floats. Packing pays when every packed element is used often enough and the operands leave the L1
// cache.
PJRT_KERNEL_INLINE bool WorthPacking(int64_t m, int64_t n, int64_t k) {
  return m > 2 * kGemmRows && n * k > 8192;
}
template <typename T, typename S>
void GemmFloat(const GemmArgs& g, void* scratch) {
  if (g.m <= 0 || g.n <= 0) return;
  if (g.k <= 0) {
    if (!g.accumulate) ClearRows<T>(g);
    return;
  }
  T* buffer = static_cast<T*>(scratch);
  if constexpr (kSame<T, S>) {
    const bool few = g.n < kLanes<T> || (g.b_col != 1 && g.m <= 2);
    if (few && g.a_col == 1 && g.b_row == 1) return GemmDot<T>(g);
    if (g.n == 1 && g.a_row == 1 && g.c_row == 1) {
      // The vector is on the right: the same product transposed is a thin one.
      GemmArgs t = g;
      t.m = 1, t.n = g.m;
      t.a = g.b, t.a_row = g.b_col, t.a_col = g.b_row;
      t.b = g.a, t.b_row = g.a_col, t.b_col = g.a_row;
      return GemmThin<T>(t);
    }
    if (g.m <= 2 && g.b_col == 1 && g.n > 2 * kTileColumns<T>) return GemmThin<T>(g);
    if (!WorthPacking(g.m, g.n, g.k)) return GemmDirect<T>(g, buffer);
  }
  GemmPacked<T, S>(g, buffer);
}

// Integers and complex numbers.
template <typename T>
void GemmPlain(const GemmArgs& g, void*) {
  const T* a = static_cast<const T*>(g.a);
  const T* b = static_cast<const T*>(g.b);
  T* c = static_cast<T*>(g.c);
  if (!g.accumulate) ClearRows<T>(g);
  for (int64_t p0 = 0; p0 < g.k; p0 += kBlockK) {
    const int64_t p1 = Least(g.k, p0 + kBlockK);
    for (int64_t i = 0; i < g.m; ++i) {
      T* row = c + i * g.c_row;
      for (int64_t p = p0; p < p1; ++p) {
        const T x = a[i * g.a_row + p * g.a_col];
        const T* y = b + p * g.b_row;
        if (g.b_col == 1) {
          PJRT_KERNEL_INDEPENDENT
          for (int64_t j = 0; j < g.n; ++j)
            row[j] = op::Add::Apply(row[j], op::Multiply::Apply(x, y[j]));
        } else {
          for (int64_t j = 0; j < g.n; ++j)
            row[j] = op::Add::Apply(row[j], op::Multiply::Apply(x, y[j * g.b_col]));
        }
      }
    }
  }
}

template <typename T>
size_t ScratchFor(int64_t n, int64_t k) {
  const int64_t columns = RoundUp(Least(n < 1 ? 1 : n, kBlockN), kTileColumns<T>);
  const int64_t packed = kBlockM * kBlockK + columns * Least(k, kBlockK);
  const int64_t direct = k * kTileColumns<T>;  // one panel of all of B
  return size_t((packed > direct ? packed : direct) * int64_t(sizeof(T)));
}
inline size_t GemmScratchBytes(DType t, int64_t m, int64_t n, int64_t k) {
  if (m <= 0 || n <= 0 || k <= 0) return 0;
  if (t == DType::kF64) return ScratchFor<double>(n, k);
  return Contains(kFloatTypes, t) ? ScratchFor<float>(n, k) : 0;
}

constexpr void FillGemm(KernelTable& table) {
  auto& gemm = table.gemm;
  gemm[size_t(DType::kF32)] = &GemmFloat<float, float>;
  gemm[size_t(DType::kF64)] = &GemmFloat<double, double>;
  gemm[size_t(DType::kF16)] = &GemmFloat<float, F16>;
  gemm[size_t(DType::kBF16)] = &GemmFloat<float, BF16>;
  gemm[size_t(DType::kS8)] = gemm[size_t(DType::kU8)] = &GemmPlain<uint8_t>;
  gemm[size_t(DType::kS16)] = gemm[size_t(DType::kU16)] = &GemmPlain<uint16_t>;
  gemm[size_t(DType::kS32)] = gemm[size_t(DType::kU32)] = &GemmPlain<uint32_t>;
  gemm[size_t(DType::kS64)] = gemm[size_t(DType::kU64)] = &GemmPlain<uint64_t>;
  gemm[size_t(DType::kC64)] = &GemmPlain<C64>;
  gemm[size_t(DType::kC128)] = &GemmPlain<C128>;
  table.gemm_scratch_bytes = &GemmScratchBytes;
}
