#ifndef REFERENCE_KERNELS_KERNEL_TABLE_H_
#define REFERENCE_KERNELS_KERNEL_TABLE_H_

// The typed inner loops of the CPU backend, as tables of function pointers: one table for each
// instruction set that the build knows, the best one that the CPU runs chosen once per process.
//
//   PJRT_PLUGIN_RETURN_IF_ERROR(SelectIsa(force));              // at start-up; "" takes the best
//   const KernelTable& kernels = Kernels();
//   ElementwiseFn add = kernels.Find(ElementwiseOp::kAdd, DType::kF32);
//   const void* in[] = {x, &one};
//   add(in, /*scalars=*/0b10, out, n);                          // out[i] = x[i] + one
//
// A kernel takes pointers, sizes and strides. It allocates nothing, keeps no state, takes no lock
// and never fails: shapes, dtypes and ranges are the caller's to check, threads and blocks the
// caller's to choose. Pointers are aligned to their element. Elements of i1 are the bytes 0 and 1.
// Counts may be zero.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "backend/dtype.h"
#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::reference::kernels {

using backend::DType;
using backend::kNumDTypes;

// ---- Elementwise ----

// Sets of dtypes, one bit each, in which elementwise.inc says where an operation is defined.
using DTypeSet = uint32_t;
static_assert(kNumDTypes <= 32);
template <typename... T>
constexpr DTypeSet SetOf(T... types) {
  return ((DTypeSet{1} << int(types)) | ...);
}
// Static: each instruction set has its own, also where nothing is inlined.
static constexpr bool Contains(DTypeSet set, DType t) { return (set >> int(t)) & 1; }
inline constexpr DTypeSet kPredTypes = SetOf(DType::kPred);
inline constexpr DTypeSet kSignedTypes = SetOf(DType::kS8, DType::kS16, DType::kS32, DType::kS64);
inline constexpr DTypeSet kUnsignedTypes = SetOf(DType::kU8, DType::kU16, DType::kU32, DType::kU64);
inline constexpr DTypeSet kIntegerTypes = kSignedTypes | kUnsignedTypes;
inline constexpr DTypeSet kHalfTypes = SetOf(DType::kF16, DType::kBF16);
inline constexpr DTypeSet kWideFloatTypes = SetOf(DType::kF32, DType::kF64);
inline constexpr DTypeSet kFloatTypes = kHalfTypes | kWideFloatTypes;
inline constexpr DTypeSet kComplexTypes = SetOf(DType::kC64, DType::kC128);

enum class ElementwiseOp : uint8_t {
#define PJRT_PLUGIN_KERNEL(name, arity, dtypes) k##name,
#include "reference/kernels/elementwise.inc"
#undef PJRT_PLUGIN_KERNEL
};
inline constexpr size_t kNumElementwiseOps = 0
#define PJRT_PLUGIN_KERNEL(name, arity, dtypes) +1
#include "reference/kernels/elementwise.inc"
#undef PJRT_PLUGIN_KERNEL
    ;

// out[i] = op(in[0][i], in[1][i], ...) for i < n. Bit j of `scalars` says that operand j is a
// single element that stands for all. `out` is dense, and may be an operand that is dense and has
// elements of the same size; any other overlap is not allowed. Any n works; blocks of 256 to 4096
// elements, which stay in the L1 cache from one operation of a chain to the next, work best.
//
// Semantics are StableHLO's, and XLA's where StableHLO leaves the choice: integers wrap around; x /
// 0 is -1 (all bits set), x % 0 is x, INT_MIN / -1 is INT_MIN; a shift by the width or more gives
// zero or the sign; maximum, minimum and clamp propagate NaN; f16 and bf16 compute in f32 and round
// to nearest even once per operation.
using ElementwiseFn = void (*)(const void* const* in, uint32_t scalars, void* out, int64_t n);

// ---- Chains ----

// Cheap operations in a row, each on the result of the one before, done while the running values
// stay in registers: for tapes whose time would go into storing and loading them.
inline constexpr DTypeSet kChainIntegers = SetOf(DType::kS32, DType::kU32);
inline constexpr DTypeSet kChainTypes = kChainIntegers | kWideFloatTypes;
inline constexpr int kMaxChainSteps = 16;

enum class ChainOp : uint8_t {
#define PJRT_PLUGIN_CHAIN_STEP(name, operation, swapped, dtypes) k##name,
#include "reference/kernels/chain.inc"
#undef PJRT_PLUGIN_CHAIN_STEP
};

// The step that is `op` on the running value, which is its first operand, or its second when
// `swapped`; nothing where no chain has it for this dtype.
std::optional<ChainOp> FindChainOp(ElementwiseOp op, DType t, bool swapped);

struct ChainStep {
  ChainOp op;
  bool scalar;     // `in` is a single element that stands for all
  const void* in;  // the other operand; of an operation with one operand, any dense one
  void* out;       // where the running value goes after this step, or null
};
// For i < n: the running value starts as first[i], and is stored where the steps say. A dense `in`
// may be an `out` of this step or of an earlier one (it then sees what was stored) or a later one;
// other overlaps are not allowed. 0 <= count <= kMaxChainSteps. Each operation rounds as its
// elementwise kernel does.
using ChainFn = void (*)(const void* first, const ChainStep* steps, int count, int64_t n);

// ---- Reduction ----

enum class ReduceOp : uint8_t { kAdd, kMultiply, kMaximum, kMinimum, kAnd, kOr, kXor };
inline constexpr size_t kNumReduceOps = 7;

// The type in which a reduction or a matrix product accumulates and gives its result: f32 for f16
// and bf16, otherwise the dtype itself.
constexpr DType AccumulatorType(DType t) {
  return t == DType::kF16 || t == DType::kBF16 ? DType::kF32 : t;
}

// A matrix of `rows` rows of `n` dense elements, row r at in + r * row_stride elements. Folds into
// `out`, which the caller has filled with initial values of AccumulatorType (or with an earlier
// part's result).
//   inner: out[r] = out[r] op in[r][0] op ... op in[r][n-1]
//   outer: out[j] = out[j] op in[0][j] op ... op in[rows-1][j]
// The order of operations is free: sums use many accumulators, for speed and accuracy.
using ReduceFn = void (*)(const void* in, int64_t rows, int64_t n, int64_t row_stride, void* out);

// ---- Matrix product ----

// C = A B, or C += A B. A is m x k, B is k x n, strides are in elements and may be anything
// (transposed operands are strides swapped, negative ones work); a row of C is dense. A and B are
// of one dtype, C of its AccumulatorType. A part of C is the same product with pointers moved and
// m, n smaller: that is how threads share the work.
struct GemmArgs {
  int64_t m, n, k;
  const void* a;
  int64_t a_row, a_col;
  const void* b;
  int64_t b_row, b_col;
  void* c;
  int64_t c_row;
  bool accumulate = false;
};
// `scratch` has the bytes that gemm_scratch_bytes gives for this m, n, k, aligned to 64, for this
// call alone.
using GemmFn = void (*)(const GemmArgs& args, void* scratch);
using GemmScratchFn = size_t (*)(DType dtype, int64_t m, int64_t n, int64_t k);

// How to cut C for `threads` threads: row_parts * column_parts parts of rows_per_part x
// columns_per_part (the last ones smaller), multiples of the micro-kernels' tiles. One part when
// the product is too small to share.
struct GemmSplit {
  int64_t row_parts, column_parts;
  int64_t rows_per_part, columns_per_part;
};
GemmSplit SplitGemm(int64_t m, int64_t n, int64_t k, int64_t threads);

// ---- Data movement ----

inline constexpr int64_t kMaxCopyRank = 32;

// out[i . out_strides] = in[i . in_strides] for every index i of a box. Strides in bytes, may be
// zero (broadcast; in `in` only) or negative (reverse). Serves transpose, slice, broadcast,
// reverse, concatenate, pad and strided host layouts. Dimensions may come in any order; the kernel
// sorts, merges and tiles. rank <= kMaxCopyRank; element size 1, 2, 4, 8 or 16.
struct CopyArgs {
  int64_t rank;
  const int64_t* dims;
  const void* in;
  const int64_t* in_strides;
  void* out;
  const int64_t* out_strides;
};
using CopyFn = void (*)(const CopyArgs& args);
// out[i] = *value
using FillFn = void (*)(const void* value, void* out, int64_t n);
// out[i] = start + i * step, in the dtype's arithmetic (i1: odd or even).
using IotaFn = void (*)(int64_t start, int64_t step, void* out, int64_t n);
// Row i of the dense `out` is the row_bytes bytes at in + offsets[i].
using GatherRowsFn = void (*)(const void* in, const int64_t* offsets, int64_t rows,
                              int64_t row_bytes, void* out);

// log2 of an element size: the index of copy and fill.
constexpr size_t SizeIndex(size_t bytes) {
  return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : 4;
}

// ---- The table ----

struct KernelTable {
  // Null where the operation is not defined for the dtype. Types narrower than 8 bits and the 8-bit
  // floats have only conversions: convert to s8, u8 or f32 (exact), compute there and convert back.
  ElementwiseFn elementwise[kNumElementwiseOps][kNumDTypes];
  // [from][to], all pairs. Float to integer truncates and saturates, NaN gives 0; integers wrap
  // around; to i1 means "is not zero"; complex to real drops the imaginary part.
  ElementwiseFn convert[kNumDTypes][kNumDTypes];
  ChainFn chain[kNumDTypes];  // of kChainTypes
  ReduceFn reduce_inner[kNumReduceOps][kNumDTypes];
  ReduceFn reduce_outer[kNumReduceOps][kNumDTypes];
  GemmFn gemm[kNumDTypes];
  GemmScratchFn gemm_scratch_bytes;
  CopyFn copy[5];
  FillFn fill[5];
  IotaFn iota[kNumDTypes];
  GatherRowsFn gather_rows;

  ElementwiseFn Find(ElementwiseOp op, DType t) const { return elementwise[size_t(op)][size_t(t)]; }
  ElementwiseFn Convert(DType from, DType to) const { return convert[size_t(from)][size_t(to)]; }
  ReduceFn ReduceInner(ReduceOp op, DType t) const { return reduce_inner[size_t(op)][size_t(t)]; }
  ReduceFn ReduceOuter(ReduceOp op, DType t) const { return reduce_outer[size_t(op)][size_t(t)]; }
};

// ---- Choice of the instruction set ----

// The table of the chosen instruction set; the CPU's best when none was chosen yet.
const KernelTable& Kernels();

// Chooses "baseline", "avx2", "avx512" or "neon"; "" chooses the CPU's best. INVALID_ARGUMENT for
// any other word, FAILED_PRECONDITION for one that this CPU or this build lacks; the choice then
// stays as it was. Call it before kernels run: a running computation keeps the table that it has.
backend::Status SelectIsa(std::string_view force);

// The name of the instruction set in use, such as "avx2".
std::string_view ActiveIsa();

}  // namespace PJRT_PLUGIN_NS::reference::kernels

#endif  // REFERENCE_KERNELS_KERNEL_TABLE_H_
