// cholesky and triangular_solve, in blocks: a block is done by its definition, what it changes
// elsewhere is a matrix product.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "program/op_table.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

constexpr int64_t kFactorBlock = 48;

// std::complex's product looks for infinities on the way, which costs more than the product.
template <typename T>
T Times(T a, T b) {
  return a * b;
}
template <typename R>
std::complex<R> Times(std::complex<R> a, std::complex<R> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <typename T>
T Conjugate(T a) {
  if constexpr (std::is_floating_point_v<T>) {
    return a;
  } else {
    return std::conj(a);
  }
}

// A matrix with any strides, in elements.
template <typename T>
struct Strided {
  const T* data;
  int64_t row, column;
  bool conjugated = false;

  T At(int64_t i, int64_t j) const {
    const T x = data[i * row + j * column];
    return conjugated ? Conjugate(x) : x;
  }
};

// out = -a[rows, columns], dense.
template <typename T>
void CopyNegated(const Strided<T>& a, int64_t first_row, int64_t rows, int64_t first_column,
                 int64_t columns, T* out) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      out[i * columns + j] = -a.At(first_row + i, first_column + j);
}

template <typename T>
constexpr DType kDTypeOf = std::is_same_v<T, float>                 ? DType::kF32
                           : std::is_same_v<T, double>              ? DType::kF64
                           : std::is_same_v<T, std::complex<float>> ? DType::kC64
                                                                    : DType::kC128;

// c += a b
template <typename T>
void MultiplyAdd(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, const T* b,
                 int64_t b_row, int64_t b_column, T* c, int64_t c_row, void* scratch) {
  kernels::GemmArgs args{m, n, k, a, a_row, 1, b, b_row, b_column, c, c_row, true};
  kernels::Kernels().gemm[size_t(kDTypeOf<T>)](args, scratch);
}

size_t RoundedUp(size_t bytes) { return (bytes + 63) / 64 * 64; }

// ---- Cholesky ----

// What one matrix needs, laid out from one address on.
template <typename T>
struct CholeskyScratch {
  int64_t n;
  bool lower;
  int64_t threads;

  size_t panel_bytes() const { return RoundedUp(size_t(kFactorBlock * n) * sizeof(T)); }
  size_t gemm_bytes() const {
    return RoundedUp(kernels::Kernels().gemm_scratch_bytes(kDTypeOf<T>, n, kFactorBlock, n));
  }
  size_t bytes() const { return panel_bytes() + gemm_bytes() * size_t(threads); }
};

// a, whose lower triangle counts, becomes the factor. False when it is not positive definite.
template <typename T>
bool FactorLower(T* a, const CholeskyScratch<T>& shape, std::byte* scratch, ThreadPool& pool) {
  using std::real;
  const int64_t n = shape.n;
  T* panel = reinterpret_cast<T*>(scratch);
  std::byte* gemm_scratch = scratch + shape.panel_bytes();
  for (int64_t k = 0; k < n; k += kFactorBlock) {
    const int64_t width = std::min(kFactorBlock, n - k), end = k + width;
    if (k > 0) {
      // Everything from the block's diagonal down, minus what the columns before it account for.
      CopyNegated<T>({a, n, 1, true}, k, width, 0, k, panel);
      const int64_t rows = n - k;
      const int64_t parts = rows * k < 16384 ? 1 : std::min(shape.threads, rows / 16 + 1);
      pool.ParallelFor(parts, 1, [&](int64_t first, int64_t last) {
        for (int64_t p = first; p < last; ++p) {
          const int64_t from = k + rows * p / parts, to = k + rows * (p + 1) / parts;
          MultiplyAdd<T>(to - from, width, k, a + from * n, n, panel, 1, k, a + from * n + k, n,
                         gemm_scratch + size_t(p) * shape.gemm_bytes());
        }
      });
    }
    for (int64_t j = k; j < end; ++j) {
      const T* row = a + j * n;
      auto square = real(row[j]);
      for (int64_t p = k; p < j; ++p) square -= std::norm(row[p]);
      if (!(square > 0)) return false;
      const auto pivot = std::sqrt(square);
      a[j * n + j] = pivot;
      for (int64_t i = j + 1; i < end; ++i) {
        T sum = a[i * n + j];
        for (int64_t p = k; p < j; ++p) sum -= Times(a[i * n + p], Conjugate(row[p]));
        a[i * n + j] = sum / pivot;
      }
    }
    // The product has written above the diagonal too.
    for (int64_t i = k; i < end; ++i) std::fill(a + i * n + i + 1, a + i * n + end, T(0));
    pool.ParallelFor(n - end, 64, [&](int64_t first, int64_t last) {
      for (int64_t i = end + first; i < end + last; ++i)
        for (int64_t j = k; j < end; ++j) {
          T sum = a[i * n + j];
          for (int64_t p = k; p < j; ++p) sum -= Times(a[i * n + p], Conjugate(a[j * n + p]));
          a[i * n + j] = sum / real(a[j * n + j]);
        }
    });
  }
  return true;
}

template <typename T>
void Cholesky(const T* in, T* out, const CholeskyScratch<T>& shape, std::byte* scratch,
              ThreadPool& pool) {
  const int64_t n = shape.n;
  // The upper factor is the lower one of the same matrix, turned.
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      out[i * n + j] = j > i ? T(0) : shape.lower ? in[i * n + j] : Conjugate(in[j * n + i]);
  if (!FactorLower(out, shape, scratch, pool)) {
    using Real = decltype(std::real(T()));
    const Real nan = std::numeric_limits<Real>::quiet_NaN();
    Real* all = reinterpret_cast<Real*>(out);
    std::fill(all, all + size_t(n * n) * (sizeof(T) / sizeof(Real)), nan);
    return;
  }
  for (int64_t i = 0; i < n && !shape.lower; ++i)
    for (int64_t j = 0; j < i; ++j) {
      out[j * n + i] = Conjugate(out[i * n + j]);
      out[i * n + j] = T(0);
    }
}

template <typename T>
Status EmitCholesky(PlanBuilder& b, const Op& op) {
  const Type& type = op.type();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place in, b.Dense(op.operands[0]));
  const int64_t n = type.dims.back(), size = n * n;
  const int64_t batches = size == 0 ? 0 : type.num_elements() / size;
  // Threads share the matrices, or a single one.
  const int64_t workers = std::max<int64_t>(std::min<int64_t>(b.threads(), batches), 1);
  const CholeskyScratch<T> shape{n, op.Bool("lower"), batches == 1 ? b.threads() : 1};
  BufferId scratch = b.NewTemp(std::max<size_t>(shape.bytes() * size_t(workers), 64));
  const Place out = b.NewResult(op.result());
  b.AddFlops(double(batches) * double(n) * double(n) * double(n) / 3);
  b.Emit(op, {.reads = {in.buffer}, .writes = {out.buffer, scratch}}, [=](const Frame& frame) {
    frame.pool->ParallelFor(workers, 1, [&](int64_t begin, int64_t end) {
      for (int64_t w = begin; w < end; ++w)
        for (int64_t i = batches * w / workers; i < batches * (w + 1) / workers; ++i)
          Cholesky<T>(in.At<T>(frame) + i * size, out.At<T>(frame) + i * size, shape,
                      frame.At(scratch) + size_t(w) * shape.bytes(), *frame.pool);
    });
    return Status();
  });
  return Status();
}

// ---- Triangular systems ----

// op(a) x = b, or x op(a) = b, for `rows` by `columns` elements of x.
template <typename T>
struct TriangularSystem {
  bool left, lower, unit;  // lower: op(a), which may be a transposed
  int64_t n;
  int64_t columns;  // of all of x, which lies in rows

  size_t panel_bytes() const { return RoundedUp(size_t(kFactorBlock * n) * sizeof(T)); }
  size_t bytes(int64_t share) const {
    return panel_bytes() +
           RoundedUp(
               left ? kernels::Kernels().gemm_scratch_bytes(kDTypeOf<T>, kFactorBlock, share, n)
                    : kernels::Kernels().gemm_scratch_bytes(kDTypeOf<T>, share, kFactorBlock, n));
  }

  // In place: `x` is b before. `share` columns of x are done where a is on the left, else rows.
  void Solve(const Strided<T>& a, T* x, int64_t share, std::byte* scratch) const {
    T* panel = reinterpret_cast<T*>(scratch);
    void* gemm_scratch = scratch + panel_bytes();
    const bool forward = left == lower;
    const int64_t blocks = (n + kFactorBlock - 1) / kFactorBlock;
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t k = (forward ? i : blocks - 1 - i) * kFactorBlock;
      const int64_t width = std::min(kFactorBlock, n - k);
      // What is solved already.
      const int64_t from = forward ? 0 : k + width, done = forward ? k : n - from;
      if (left) {
        if (done > 0) {
          CopyNegated(a, k, width, from, done, panel);
          MultiplyAdd<T>(width, share, done, panel, done, x + from * columns, columns, 1,
                         x + k * columns, columns, gemm_scratch);
        }
        SolveRows(a, x, k, width, share);
      } else {
        if (done > 0) {
          CopyNegated(a, from, done, k, width, panel);
          MultiplyAdd<T>(share, width, done, x + from, columns, panel, width, 1, x + k, columns,
                         gemm_scratch);
        }
        SolveColumns(a, x, k, width, share);
      }
    }
  }

  void SolveRows(const Strided<T>& a, T* x, int64_t k, int64_t width, int64_t share) const {
    for (int64_t s = 0; s < width; ++s) {
      const int64_t i = lower ? k + s : k + width - 1 - s;
      T* row = x + i * columns;
      for (int64_t j = lower ? k : i + 1; j < (lower ? i : k + width); ++j) {
        const T factor = a.At(i, j);
        const T* other = x + j * columns;
        for (int64_t c = 0; c < share; ++c) row[c] -= Times(factor, other[c]);
      }
      if (unit) continue;
      const T pivot = a.At(i, i);
      for (int64_t c = 0; c < share; ++c) row[c] = row[c] / pivot;
    }
  }
  void SolveColumns(const Strided<T>& a, T* x, int64_t k, int64_t width, int64_t share) const {
    for (int64_t r = 0; r < share; ++r) {
      T* row = x + r * columns;
      for (int64_t s = 0; s < width; ++s) {
        const int64_t j = lower ? k + width - 1 - s : k + s;
        T sum = row[j];
        for (int64_t i = lower ? j + 1 : k; i < (lower ? k + width : j); ++i)
          sum -= Times(row[i], a.At(i, j));
        row[j] = unit ? sum : sum / a.At(j, j);
      }
    }
  }
};

template <typename T>
Status EmitTriangularSolve(PlanBuilder& b, const Op& op) {
  using program::Transpose;
  const Type& type = op.type();
  const Transpose transpose = op.As<Transpose>("transpose_a");
  const bool turned = transpose != Transpose::kNoTranspose;
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place a, b.Dense(op.operands[0]));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place x, b.Dense(op.operands[1]));
  const int64_t n = op.operand_type(0).dims.back();
  const int64_t columns = type.dims.back(), rows = type.dims[type.dims.size() - 2];
  const TriangularSystem<T> system{op.Bool("left_side"), op.Bool("lower") != turned,
                                   op.Bool("unit_diagonal"), n, columns};
  const int64_t size = rows * columns, batches = size == 0 ? 0 : type.num_elements() / size;
  // The columns, or rows, of x are independent of each other.
  const int64_t all = system.left ? columns : rows;
  const bool cut = batches < b.threads() && n * all > 4096;
  const int64_t parts = cut ? std::min<int64_t>(b.threads(), (all + 15) / 16) : 1;
  const int64_t tasks = batches * parts;
  const int64_t workers = std::max<int64_t>(std::min<int64_t>(b.threads(), tasks), 1);
  const size_t bytes = system.bytes(all / parts + 1);
  BufferId scratch = b.NewTemp(std::max<size_t>(bytes * size_t(workers), 64));
  const Place out = b.NewResult(op.result());
  Uses uses{.reads = {a.buffer, x.buffer}, .writes = {out.buffer, scratch}};
  if (x.bytes == 0 && b.Root(x.buffer) != b.Root(a.buffer))
    uses.in_place = {{x.buffer, out.buffer}};
  b.AddFlops(double(type.num_elements()) * double(n));
  b.Emit(op, std::move(uses), [=, all_bytes = type.byte_size()](const Frame& frame) {
    if (out.At(frame) != x.At(frame)) std::memcpy(out.At(frame), x.At(frame), all_bytes);
    frame.pool->ParallelFor(workers, 1, [&](int64_t begin, int64_t end) {
      for (int64_t w = begin; w < end; ++w)
        for (int64_t i = tasks * w / workers; i < tasks * (w + 1) / workers; ++i) {
          const int64_t batch = i / parts, part = i % parts;
          const int64_t first = all * part / parts, last = all * (part + 1) / parts;
          const Strided<T> matrix{a.At<T>(frame) + batch * n * n, turned ? 1 : n, turned ? n : 1,
                                  transpose == Transpose::kAdjoint};
          T* to = out.At<T>(frame) + batch * size + first * (system.left ? 1 : columns);
          system.Solve(matrix, to, last - first, frame.At(scratch) + size_t(w) * bytes);
        }
    });
    return Status();
  });
  return Status();
}

}  // namespace

Status LowerCholesky(PlanBuilder& b, const Op& op) {
  switch (op.type().dtype) {
    case DType::kF32:
      return EmitCholesky<float>(b, op);
    case DType::kF64:
      return EmitCholesky<double>(b, op);
    case DType::kC64:
      return EmitCholesky<std::complex<float>>(b, op);
    case DType::kC128:
      return EmitCholesky<std::complex<double>>(b, op);
    default:
      return PlanBuilder::Unsupported(op, "its elements are none of f32, f64 and complex");
  }
}

Status LowerTriangularSolve(PlanBuilder& b, const Op& op) {
  switch (op.type().dtype) {
    case DType::kF32:
      return EmitTriangularSolve<float>(b, op);
    case DType::kF64:
      return EmitTriangularSolve<double>(b, op);
    case DType::kC64:
      return EmitTriangularSolve<std::complex<float>>(b, op);
    case DType::kC128:
      return EmitTriangularSolve<std::complex<double>>(b, op);
    default:
      return PlanBuilder::Unsupported(op, "its elements are none of f32, f64 and complex");
  }
}

}  // namespace PJRT_PLUGIN_NS::reference
