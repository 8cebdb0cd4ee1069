// Data movement: strided copies, fills, iota, gathered rows.

struct CopyDim {
  int64_t size, in, out;
};

// Dimensions of size 1 dropped, the rest sorted by output stride (longest first), neighbours that
// are one dimension in both arrays merged. Returns the rank, or -1 when there is nothing to copy.
PJRT_KERNEL_NOINLINE inline int Simplify(const CopyArgs& args, CopyDim* dims) {
  int rank = 0;
  for (int64_t d = 0; d < args.rank; ++d) {
    if (args.dims[d] <= 0) return -1;
    if (args.dims[d] == 1) continue;
    CopyDim dim{args.dims[d], args.in_strides[d], args.out_strides[d]};
    const int64_t length = dim.out < 0 ? -dim.out : dim.out;
    int at = rank++;
    for (; at > 0; --at) {
      const int64_t before = dims[at - 1].out < 0 ? -dims[at - 1].out : dims[at - 1].out;
      if (before >= length) break;
      dims[at] = dims[at - 1];
    }
    dims[at] = dim;
  }
  int merged = 0;
  for (int d = 0; d < rank; ++d) {
    if (merged > 0) {
      CopyDim& outer = dims[merged - 1];
      if (outer.in == dims[d].in * dims[d].size && outer.out == dims[d].out * dims[d].size) {
        outer = {outer.size * dims[d].size, dims[d].in, dims[d].out};
        continue;
      }
    }
    dims[merged++] = dims[d];
  }
  return merged;
}

template <typename T>
PJRT_KERNEL_INLINE T& At(const char* base, int64_t offset) {
  return *reinterpret_cast<T*>(const_cast<char*>(base) + offset);
}

template <typename T>
PJRT_KERNEL_INLINE void CopyRow(const CopyDim& d, const char* in, char* out) {
  constexpr int64_t size = sizeof(T);
  if (d.out == size && d.in == size) {
    __builtin_memcpy(out, in, size_t(d.size * size));
  } else if (d.out == size && d.in == 0) {
    const T value = At<T>(in, 0);
    T* o = reinterpret_cast<T*>(out);
    for (int64_t i = 0; i < d.size; ++i) o[i] = value;
  } else if (d.out == size) {
    T* o = reinterpret_cast<T*>(out);
    for (int64_t i = 0; i < d.size; ++i) o[i] = At<T>(in, i * d.in);
  } else {
    for (int64_t i = 0; i < d.size; ++i) At<T>(out, i * d.out) = At<T>(in, i * d.in);
  }
}

// A plane whose rows are short steps in `out` and whose columns are short steps in `in`: square
// tiles, so that every cache line is used whole on both sides.
template <typename T>
PJRT_KERNEL_NOINLINE void CopyTiled(const CopyDim& x, const CopyDim& y, const char* in, char* out) {
  // A tile is 64 bytes wide on the side that is read.
  constexpr int kTile = sizeof(T) >= 8 ? 8 : 64 / int(sizeof(T)) > 16 ? 16 : 64 / int(sizeof(T));
  for (int64_t x0 = 0; x0 < x.size; x0 += kTile) {
    const int64_t xn = x.size - x0 < kTile ? x.size - x0 : kTile;
    for (int64_t y0 = 0; y0 < y.size; y0 += kTile) {
      const int64_t yn = y.size - y0 < kTile ? y.size - y0 : kTile;
      const char* from = in + x0 * x.in + y0 * y.in;
      char* to = out + x0 * x.out + y0 * y.out;
      if (xn == kTile && yn == kTile && x.in == int64_t(sizeof(T)) && y.out == int64_t(sizeof(T))) {
        T tile[kTile][kTile];
        for (int j = 0; j < kTile; ++j) __builtin_memcpy(tile[j], from + j * y.in, sizeof(tile[j]));
        for (int i = 0; i < kTile; ++i) {
          T row[kTile];
          for (int j = 0; j < kTile; ++j) row[j] = tile[j][i];
          __builtin_memcpy(to + i * x.out, row, sizeof(row));
        }
      } else {
        for (int64_t i = 0; i < xn; ++i)
          for (int64_t j = 0; j < yn; ++j)
            At<T>(to, i * x.out + j * y.out) = At<T>(from, i * x.in + j * y.in);
      }
    }
  }
}

template <typename T>
void Copy(const CopyArgs& args) {
  CopyDim dims[kMaxCopyRank];
  int rank = Simplify(args, dims);
  const char* in = static_cast<const char*>(args.in);
  char* out = static_cast<char*>(args.out);
  if (rank < 0) return;
  if (rank == 0) {
    At<T>(out, 0) = At<T>(in, 0);
    return;
  }
  // The last dimension is the innermost of `out`. When another one is the innermost of `in`, both
  // go into a tile.
  const CopyDim inner = dims[rank - 1];
  int tiled = -1;
  if (inner.in != int64_t(sizeof(T)) && inner.in != 0)
    for (int d = 0; d < rank - 1; ++d)
      if (dims[d].in == int64_t(sizeof(T))) tiled = d;
  CopyDim across{};
  int outer = rank - 1;
  if (tiled >= 0) {
    across = dims[tiled];
    for (int d = tiled; d + 1 < rank - 1; ++d) dims[d] = dims[d + 1];
    --outer;
  }
  int64_t index[kMaxCopyRank] = {};
  for (;;) {
    if (tiled >= 0) {
      CopyTiled<T>(across, inner, in, out);
    } else {
      CopyRow<T>(inner, in, out);
    }
    int d = outer - 1;
    for (; d >= 0; --d) {
      in += dims[d].in;
      out += dims[d].out;
      if (++index[d] < dims[d].size) break;
      index[d] = 0;
      in -= dims[d].in * dims[d].size;
      out -= dims[d].out * dims[d].size;
    }
    if (d < 0) return;
  }
}

template <typename T>
void Fill(const void* value, void* out, int64_t n) {
  const T x = *static_cast<const T*>(value);
  T* o = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = x;
}

template <typename T>
void Iota(int64_t start, int64_t step, void* out, int64_t n) {
  T* o = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t x = int64_t(uint64_t(start) + uint64_t(i) * uint64_t(step));
    if constexpr (kIsHalf<T>) {
      o[i] = Narrow<T>::Apply(float(x));
    } else {
      o[i] = To<T>::Apply(x);
    }
  }
}
inline void IotaPred(int64_t start, int64_t step, void* out, int64_t n) {
  Pred* o = static_cast<Pred*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = Pred((uint64_t(start) + uint64_t(i) * uint64_t(step)) & 1);
}

inline void GatherRows(const void* in, const int64_t* offsets, int64_t rows, int64_t row_bytes,
                       void* out) {
  const char* from = static_cast<const char*>(in);
  char* to = static_cast<char*>(out);
  // A known size lets the compiler move one element instead of calling memcpy.
  if (row_bytes == 4) {
    for (int64_t i = 0; i < rows; ++i) __builtin_memcpy(to + 4 * i, from + offsets[i], 4);
  } else if (row_bytes == 8) {
    for (int64_t i = 0; i < rows; ++i) __builtin_memcpy(to + 8 * i, from + offsets[i], 8);
  } else {
    for (int64_t i = 0; i < rows; ++i, to += row_bytes)
      __builtin_memcpy(to, from + offsets[i], size_t(row_bytes));
  }
}

constexpr void FillData(KernelTable& table) {
  table.copy[0] = &Copy<uint8_t>;
  table.copy[1] = &Copy<uint16_t>;
  table.copy[2] = &Copy<uint32_t>;
  table.copy[3] = &Copy<uint64_t>;
  table.copy[4] = &Copy<C128>;
  table.fill[0] = &Fill<uint8_t>;
  table.fill[1] = &Fill<uint16_t>;
  table.fill[2] = &Fill<uint32_t>;
  table.fill[3] = &Fill<uint64_t>;
  table.fill[4] = &Fill<C128>;
#define PJRT_KERNEL_ENTRY(t) table.iota[size_t(DType::t)] = &Iota<typename TypeOf<DType::t>::Type>;
  PJRT_KERNEL_FOR_EACH_TYPE(PJRT_KERNEL_ENTRY)
#undef PJRT_KERNEL_ENTRY
  table.iota[size_t(DType::kPred)] = &IotaPred;
  table.gather_rows = &GatherRows;
}
