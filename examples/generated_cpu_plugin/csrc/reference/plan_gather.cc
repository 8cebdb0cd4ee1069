#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "program/op_table.h"
#include "reference/indexed_windows.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {

Status LowerGather(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place operand, b.Dense(op.operands[0]));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place indices, b.Dense(op.operands[1]));
  WindowDims dims;
  dims.slice_window_dims = op.IntList("offset_dims");
  dims.missing_dims = op.IntList("collapsed_slice_dims");
  dims.operand_batching_dims = op.IntList("operand_batching_dims");
  dims.indices_batching_dims = op.IntList("start_indices_batching_dims");
  dims.index_map = op.IntList("start_index_map");
  dims.index_vector_dim = op.Int("index_vector_dim");
  dims.window_sizes = op.IntList("slice_sizes");
  Place out = b.NewResult(op.result());
  const int64_t bytes = int64_t(backend::DTypeBytes(op.type().dtype));
  const int64_t elements = op.type().num_elements();
  if (elements == 0) {
    b.Emit(op, {.reads = {}, .writes = {out.buffer}}, [](const Frame&) { return Status(); });
    return Status();
  }
  auto windows = std::make_shared<const IndexedWindows>(dims, op.operand_type(0),
                                                        op.operand_type(1), op.type());
  const int64_t window_elements = elements / windows->num_windows();
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / window_elements);
  kernels::GatherRowsFn rows = kernels::Kernels().gather_rows;
  b.Emit(op, {.reads = {operand.buffer, indices.buffer}, .writes = {out.buffer}},
         [=](const Frame& frame) {
           const std::byte* from = operand.At(frame);
           const std::byte* where = indices.At(frame);
           std::byte* to = out.At(frame);
           const int64_t run_bytes = windows->run_length() * bytes;
           frame.pool->ParallelFor(windows->num_windows(), grain, [&](int64_t begin, int64_t end) {
             if (windows->rows()) {
               constexpr int64_t kBlock = 256;
               int64_t offsets[kBlock];
               for (int64_t i = begin; i < end; i += kBlock) {
                 int64_t n = std::min(kBlock, end - i);
                 for (int64_t j = 0; j < n; ++j)
                   offsets[j] = windows->StartOf(where, i + j, true).operand * bytes;
                 rows(from, offsets, n, run_bytes, to + i * run_bytes);
               }
               return;
             }
             for (int64_t i = begin; i < end; ++i) {
               IndexedWindows::Start start = windows->StartOf(where, i, true);
               for (const IndexedWindows::Run& run : windows->runs())
                 std::memcpy(to + (start.slice + run.slice) * bytes,
                             from + (start.operand + run.operand) * bytes, size_t(run_bytes));
             }
           });
           return Status();
         });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
