#include "reference/partition.h"

#include <set>
#include <utility>

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

Status LowerManualComputation(PlanBuilder& b, const Op& op) {
  const Block& body = *op.regions[0];
  auto list = [&](std::string_view name) -> const std::vector<program::Attribute>& {
    return *op.Find(name)->As<std::vector<program::Attribute>>();
  };
  std::vector<std::string> manual_axes;
  for (const program::Attribute& axis : list("manual_axes"))
    if (const auto* name = axis.As<std::string>()) manual_axes.push_back(*name);
  auto split_of = [&](std::string_view name, size_t i,
                      const Type& type) -> Result<std::optional<Split>> {
    const auto* sharding = list(name)[i].As<program::Sharding>();
    if (sharding == nullptr) return std::optional<Split>();
    return SplitOf(b.module(), b.partitioning(), *sharding, type.dims, &manual_axes);
  };
  for (size_t i = 0; i < op.operands.size(); ++i) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(std::optional<Split> split,
                                 split_of("in_shardings", i, op.operand_type(i)));
    View view;
    if (split) {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(view, LocalView(b, op.operands[i], *split));
    } else {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(view, b.ViewOf(op.operands[i]));
    }
    if (view.dims != body.arguments[i]->type.dims)
      return PlanBuilder::Unsupported(
          op, "operand " + std::to_string(i) + " and the body's argument differ in their parts");
    b.Bind(body.arguments[i].get(), std::move(view));
  }
  PJRT_PLUGIN_RETURN_IF_ERROR(b.LowerOps(body));
  for (size_t i = 0; i < op.results.size(); ++i) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(body.terminator()->operands[i]));
    PJRT_PLUGIN_ASSIGN_OR_RETURN(std::optional<Split> split,
                                 split_of("out_shardings", i, op.type(i)));
    if (split) {
      b.shards().insert_or_assign(op.result(i), PlanBuilder::Shard{*split, std::move(view)});
    } else {
      b.Bind(op.result(i), std::move(view));
    }
  }
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
