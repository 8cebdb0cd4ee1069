#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "program/op_table.h"
#include "reference/body.h"
#include "reference/indexed_windows.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

// How a run of updates meets the elements that are there.
struct Combine {
  bool replace = false;                     // updates win
  kernels::ElementwiseFn kernel = nullptr;  // one operation, in place
  BodyTape body;                            // anything else
};

Result<Combine> CombineOf(PlanBuilder& b, const Op& op) {
  const program::Block& body = *op.regions[0];
  Combine combine;
  if (op.results.size() == 1) {
    combine.replace = ReturnsArgument(body, 1);
    if (combine.replace) return combine;
    if (auto single = SingleOpOf(body))
      combine.kernel = kernels::Kernels().Find(*single, op.type().dtype);
    if (combine.kernel != nullptr) return combine;
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN(combine.body, TapeOfBody(b, op, body));
  return combine;
}

// Runs of updates in blocks that a tape's results fit in.
constexpr int64_t kBlock = 256;

}  // namespace

Status LowerScatter(PlanBuilder& b, const Op& op) {
  const size_t count = op.results.size();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Combine combine, CombineOf(b, op));
  std::vector<Place> operands, updates, outs;
  std::vector<int64_t> bytes;
  std::vector<size_t> sizes;
  Uses uses;
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place indices, b.Dense(op.operands[count]));
  uses.reads.push_back(indices.buffer);
  for (size_t k = 0; k < count; ++k) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place operand, b.Dense(op.operands[k]));
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place update, b.Dense(op.operands[count + 1 + k]));
    operands.push_back(operand);
    updates.push_back(update);
    bytes.push_back(int64_t(backend::DTypeBytes(op.type(k).dtype)));
    sizes.push_back(op.type(k).byte_size());
    uses.reads.insert(uses.reads.end(), {operand.buffer, update.buffer});
  }
  for (const Place& place : combine.body.captured) uses.reads.push_back(place.buffer);
  for (size_t k = 0; k < count; ++k) {
    outs.push_back(b.NewResult(op.result(k)));
    uses.writes.push_back(outs.back().buffer);
    // In place when nothing else of the step lies in the operand's memory.
    auto shares = [&](BufferId id) { return b.Root(id) == b.Root(operands[k].buffer); };
    if (operands[k].bytes == 0 && std::count_if(uses.reads.begin(), uses.reads.end(), shares) == 1)
      uses.in_place.push_back({operands[k].buffer, outs[k].buffer});
  }

  WindowDims dims;
  const Type& operand_type = op.operand_type(0);
  const Type& update_type = op.operand_type(count + 1);
  dims.slice_window_dims = op.IntList("update_window_dims");
  dims.missing_dims = op.IntList("inserted_window_dims");
  dims.operand_batching_dims = op.IntList("input_batching_dims");
  dims.indices_batching_dims = op.IntList("scatter_indices_batching_dims");
  dims.index_map = op.IntList("scatter_dims_to_operand_dims");
  dims.index_vector_dim = op.Int("index_vector_dim");
  size_t next = 0;
  for (size_t d = 0; d < operand_type.dims.size(); ++d) {
    auto has = [&](const Dims& list) {
      return std::find(list.begin(), list.end(), int64_t(d)) != list.end();
    };
    dims.window_sizes.push_back(has(dims.missing_dims) || has(dims.operand_batching_dims)
                                    ? 1
                                    : update_type.dims[size_t(dims.slice_window_dims[next++])]);
  }
  const bool empty = update_type.num_elements() == 0;
  auto windows = empty ? nullptr
                       : std::make_shared<const IndexedWindows>(
                             dims, operand_type, op.operand_type(count), update_type);

  b.Emit(op, std::move(uses), [=](const Frame& frame) {
    for (size_t k = 0; k < count; ++k)
      if (outs[k].At(frame) != operands[k].At(frame) && sizes[k] != 0)
        std::memcpy(outs[k].At(frame), operands[k].At(frame), sizes[k]);
    if (windows == nullptr) return Status();
    std::vector<const void*> in(2 * count);
    for (const Place& place : combine.body.captured) in.push_back(place.At(frame));
    std::vector<void*> out(count);
    std::vector<std::max_align_t> scratch(
        combine.body.tape == nullptr ? 0 : count * kBlock * 16 / sizeof(std::max_align_t));
    auto merge = [&](int64_t to, int64_t from, int64_t n) {
      std::byte* target = outs[0].At(frame) + to * bytes[0];
      const std::byte* update = updates[0].At(frame) + from * bytes[0];
      if (combine.replace) {
        std::memcpy(target, update, size_t(n * bytes[0]));
        return;
      }
      if (combine.kernel != nullptr) {
        const void* both[] = {target, update};
        combine.kernel(both, 0, target, n);
        return;
      }
      std::byte* results = reinterpret_cast<std::byte*>(scratch.data());
      for (size_t k = 0; k < count; ++k) {
        in[k] = outs[k].At(frame) + to * bytes[k];
        in[count + k] = updates[k].At(frame) + from * bytes[k];
        out[k] = results + int64_t(k) * kBlock * 16;
      }
      combine.body.tape->Run(in.data(), out.data(), 0, n);
      for (size_t k = 0; k < count; ++k)
        std::memcpy(outs[k].At(frame) + to * bytes[k], out[k], size_t(n * bytes[k]));
    };
    const std::byte* where = indices.At(frame);
    const int64_t length = windows->run_length();
    const int64_t block = combine.body.tape == nullptr ? length : kBlock;
    // One after the other: windows may overlap, and the order of sums stays the same from run to
    // run.
    for (int64_t i = 0; i < windows->num_windows(); ++i) {
      IndexedWindows::Start start = windows->StartOf(where, i, false);
      if (!start.inside) continue;
      for (const IndexedWindows::Run& run : windows->runs())
        for (int64_t j = 0; j < length; j += block)
          merge(start.operand + run.operand + j, start.slice + run.slice + j,
                std::min(block, length - j));
    }
    return Status();
  });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
