#include "reference/partition.h"

#include <optional>
#include <set>
#include <utility>

#include "program/pass_spmd.h"
#include "reference/collectives.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

// By partition: where its part starts in the whole, in bytes.
Dims PartOffsets(const Split& split, const Dims& strides) {
  Dims offsets;
  for (const Dims& start : split.starts) {
    int64_t offset = 0;
    for (size_t d = 0; d < start.size(); ++d) offset += start[d] * strides[d];
    offsets.push_back(offset);
  }
  return offsets;
}

}  // namespace

Result<View> Unshard(PlanBuilder& b, const Value* value, const PlanBuilder::Shard& shard) {
  const Split split = shard.split;
  const Place mine = b.Dense(shard.local);
  const Dims& dims = value->type.dims;
  const int64_t bytes = int64_t(shard.local.element_bytes());
  BufferId whole = b.NewTemp(value->type.byte_size());
  const Dims strides = InBytes(DenseStrides(dims), bytes);
  // One holder of each part is enough.
  std::set<Dims> seen;
  std::vector<bool> wanted;
  for (const Dims& start : split.starts) wanted.push_back(seen.insert(start).second);
  kernels::CopyFn copy = kernels::Kernels().copy[kernels::SizeIndex(size_t(bytes))];
  EmitExchange(b, "gather parts", {mine}, {Place{whole, 0}}, AllPartitions(b.partitioning()),
               [=, offsets = PartOffsets(split, strides), local = split.local_dims,
                local_strides = InBytes(DenseStrides(split.local_dims), bytes)](
                   const Frame& frame, const Meeting& meeting) {
                 for (size_t p = 0; p < wanted.size(); ++p) {
                   if (!wanted[p]) continue;
                   copy({int64_t(local.size()), local.data(), meeting.Of(p, 0),
                         local_strides.data(), frame.At(whole) + offsets[p], strides.data()});
                 }
                 return Status();
               });
  View view{whole, value->type.dtype, 0, dims, DenseStrides(dims)};
  b.Bind(value, view);
  return view;
}

Result<View> LocalView(PlanBuilder& b, const Value* value, const Split& split) {
  auto shard = b.shards().find(value);
  if (shard != b.shards().end() && shard->second.split == split) return shard->second.local;
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View whole, b.ViewOf(value));
  const int64_t bytes = int64_t(whole.element_bytes());
  View local{kNoBuffer, whole.dtype, 0, split.local_dims, DenseStrides(split.local_dims)};
  local.buffer = b.NewTemp(size_t(local.num_elements()) * size_t(bytes));
  Place from{whole.buffer, whole.offset * bytes};
  const Dims strides = InBytes(whole.strides, bytes);
  kernels::CopyFn copy = kernels::Kernels().copy[kernels::SizeIndex(size_t(bytes))];
  b.Emit("take part", {.reads = {whole.buffer}, .writes = {local.buffer}},
         [=, offsets = PartOffsets(split, strides),
          out_strides = InBytes(local.strides, bytes)](const Frame& frame) {
           copy({int64_t(local.dims.size()), local.dims.data(),
                 from.At(frame) + offsets[size_t(frame.partition)], strides.data(),
                 frame.At(local.buffer), out_strides.data()});
           return Status();
         });
  return local;
}

Status LowerFullToShard(PlanBuilder& b, const Op& op) {
  const program::Sharding* sharding = program::FindSharding(op.discardable);
  std::optional<Split> split;
  if (sharding != nullptr) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(
        split, SplitOf(b.module(), b.partitioning(), *sharding, op.operand_type(0).dims));
  }
  View view;
  if (split) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(view, LocalView(b, op.operands[0], *split));
  } else {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(view, b.ViewOf(op.operands[0]));
  }
  if (view.dims != op.type().dims || op.operand_type(0).dtype != op.type().dtype)
    return PlanBuilder::Unsupported(op, "the result is not the part that the sharding says");
  b.Bind(op.result(), std::move(view));
  return Status();
}

Status LowerShardToFull(PlanBuilder& b, const Op& op) {
  const program::Sharding* sharding = program::FindSharding(op.discardable);
  std::optional<Split> split;
  if (sharding != nullptr) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(split,
                                 SplitOf(b.module(), b.partitioning(), *sharding, op.type().dims));
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[0]));
  if (view.dims != (split ? split->local_dims : op.type().dims) ||
      op.operand_type(0).dtype != op.type().dtype)
    return PlanBuilder::Unsupported(op, "the operand is not the part that the sharding says");
  if (split) {
    b.shards().insert_or_assign(op.result(), PlanBuilder::Shard{*split, std::move(view)});
  } else {
    b.Bind(op.result(), std::move(view));
  }
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
