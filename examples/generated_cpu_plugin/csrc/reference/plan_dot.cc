#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "program/op_table.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"
#include "reference/product.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::DTypeBytes;
using kernels::GemmArgs;

// An operand as batches of matrices: batch dimensions, then rows, then columns.
struct Matrix {
  View view;
  Dims batch;  // byte offsets of each batch
  Axis free, contracted;
};

Dims FreeAxes(const View& view, const Dims& batch, const Dims& contracted) {
  Dims free;
  for (size_t d = 0; d < view.dims.size(); ++d)
    if (std::find(batch.begin(), batch.end(), int64_t(d)) == batch.end() &&
        std::find(contracted.begin(), contracted.end(), int64_t(d)) == contracted.end())
      free.push_back(int64_t(d));
  return free;
}

Matrix MatrixOf(PlanBuilder& b, View view, const Dims& batch, const Dims& contracted) {
  Dims free = FreeAxes(view, batch, contracted);
  std::optional<Axis> rows = Join(view, free), columns = Join(view, contracted);
  Dims batch_axes = batch;
  if (!rows || !columns) {
    View arranged{view.buffer, view.dtype, view.offset, {}, {}};
    Dims order = batch;
    order.insert(order.end(), free.begin(), free.end());
    order.insert(order.end(), contracted.begin(), contracted.end());
    for (int64_t d : order) {
      arranged.dims.push_back(view.dims[size_t(d)]);
      arranged.strides.push_back(view.strides[size_t(d)]);
    }
    Place place = b.Dense(arranged);
    view = View{place.buffer, view.dtype, place.bytes / int64_t(view.element_bytes()),
                arranged.dims, DenseStrides(arranged.dims)};
    auto range = [](size_t from, size_t count) {
      Dims axes;
      for (size_t i = 0; i < count; ++i) axes.push_back(int64_t(from + i));
      return axes;
    };
    batch_axes = range(0, batch.size());
    rows = Join(view, range(batch.size(), free.size()));
    columns = Join(view, range(batch.size() + free.size(), contracted.size()));
  }
  Matrix matrix{view, {0}, *rows, *columns};
  for (int64_t d : batch_axes) {
    Dims offsets;
    for (int64_t offset : matrix.batch)
      for (int64_t i = 0; i < view.dims[size_t(d)]; ++i)
        offsets.push_back(offset + i * view.strides[size_t(d)] * int64_t(view.element_bytes()));
    matrix.batch = std::move(offsets);
  }
  return matrix;
}

}  // namespace

Status LowerDotGeneral(PlanBuilder& b, const Op& op) {
  const Type& type = op.type();
  const DType product = ProductType(op.operand_type(0).dtype, op.operand_type(1).dtype, type.dtype);
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View left, OperandAs(b, op.operands[0], product));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View right, OperandAs(b, op.operands[1], product));
  Matrix lhs = MatrixOf(b, std::move(left), op.IntList("lhs_batching_dimensions"),
                        op.IntList("lhs_contracting_dimensions"));
  Matrix rhs = MatrixOf(b, std::move(right), op.IntList("rhs_batching_dimensions"),
                        op.IntList("rhs_contracting_dimensions"));
  const DType sum = kernels::AccumulatorType(product);
  const int64_t m = lhs.free.size, n = rhs.free.size, k = lhs.contracted.size;
  const int64_t batches = int64_t(lhs.batch.size());
  const int64_t bytes = int64_t(DTypeBytes(sum)), in_bytes = int64_t(DTypeBytes(product));
  b.AddFlops(2.0 * double(batches) * double(m) * double(n) * double(k));

  const int64_t threads = b.threads();
  const bool share_batches = batches >= threads && threads > 1;
  kernels::GemmSplit split{1, 1, m, n};
  if (!share_batches && m > 0 && n > 0) split = kernels::SplitGemm(m, n, k, threads);
  const int64_t parts = split.row_parts * split.column_parts;
  const int64_t tasks = share_batches ? std::min(batches, threads) : parts;
  const size_t part_scratch = (kernels::Kernels().gemm_scratch_bytes(product, split.rows_per_part,
                                                                     split.columns_per_part, k) +
                               63) /
                              64 * 64;
  BufferId scratch = b.NewTemp(std::max<size_t>(part_scratch * size_t(tasks), 64));
  Place out = b.NewResult(op.result());
  Place sums =
      sum == type.dtype ? out : Place{b.NewTemp(size_t(type.num_elements()) * size_t(bytes)), 0};
  Uses uses{.reads = {lhs.view.buffer, rhs.view.buffer}, .writes = {out.buffer, scratch}};
  if (sums.buffer != out.buffer) uses.writes.push_back(sums.buffer);
  Place a{lhs.view.buffer, lhs.view.offset * in_bytes};
  Place c{rhs.view.buffer, rhs.view.offset * in_bytes};
  kernels::GemmFn gemm = kernels::Kernels().gemm[size_t(product)];
  kernels::ElementwiseFn narrow =
      sum == type.dtype ? nullptr : kernels::Kernels().Convert(sum, type.dtype);
  const int64_t elements = type.num_elements();
  const int64_t out_bytes = int64_t(DTypeBytes(type.dtype));

  b.Emit(op, std::move(uses),
         [=, a_batch = lhs.batch, b_batch = rhs.batch, a_row = lhs.free.stride,
          a_col = lhs.contracted.stride, b_row = rhs.contracted.stride,
          b_col = rhs.free.stride](const Frame& frame) {
           if (elements == 0) return Status();
           // Columns [j, j + nj) of rows [i, i + mi) of one batch.
           auto part = [&](int64_t batch, int64_t i, int64_t mi, int64_t j, int64_t nj,
                           int64_t task) {
             GemmArgs args{};
             args.m = mi, args.n = nj, args.k = k;
             args.a = a.At(frame) + a_batch[size_t(batch)] + i * a_row * in_bytes;
             args.a_row = a_row, args.a_col = a_col;
             args.b = c.At(frame) + b_batch[size_t(batch)] + j * b_col * in_bytes;
             args.b_row = b_row, args.b_col = b_col;
             args.c = sums.At(frame) + (batch * m * n + i * n + j) * bytes;
             args.c_row = n;
             gemm(args, frame.At(scratch) + size_t(task) * part_scratch);
           };
           if (share_batches) {
             frame.pool->ParallelFor(tasks, 1, [&](int64_t begin, int64_t end) {
               for (int64_t task = begin; task < end; ++task)
                 for (int64_t batch = batches * task / tasks; batch < batches * (task + 1) / tasks;
                      ++batch)
                   part(batch, 0, m, 0, n, task);
             });
           } else {
             for (int64_t batch = 0; batch < batches; ++batch)
               frame.pool->ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
                 for (int64_t task = begin; task < end; ++task) {
                   int64_t i = task / split.column_parts * split.rows_per_part;
                   int64_t j = task % split.column_parts * split.columns_per_part;
                   int64_t mi = std::min(split.rows_per_part, m - i);
                   int64_t nj = std::min(split.columns_per_part, n - j);
                   if (mi > 0 && nj > 0) part(batch, i, mi, j, nj, task);
                 }
               });
           }
           if (narrow != nullptr) {
             frame.pool->ParallelFor(elements, int64_t{1} << 16, [&](int64_t begin, int64_t end) {
               const void* from = sums.At(frame) + begin * bytes;
               narrow(&from, 0, out.At(frame) + begin * out_bytes, end - begin);
             });
           }
           return Status();
         });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
