#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "program/op_table.h"
#include "reference/lowerings.h"
#include "reference/scalar_index.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

View DenseView(const Type& type, BufferId buffer) {
  return View{buffer, type.dtype, 0, type.dims, DenseStrides(type.dims)};
}

// The state of a loop: one buffer for each value that it carries, the result's.
struct Carried {
  std::vector<size_t> indices;  // of the operands that are tensors
  std::vector<BufferId> buffers;
};

// Moves what the body returns into the carried buffers. A value that is computed after its
// predecessor was read for the last time is made in place, so that nothing moves.
Status CarryOver(PlanBuilder& b, const Op& loop, const Carried& carried, int body_start) {
  const program::Block& body = *loop.regions[1];
  const auto& returned = body.terminator()->operands;
  const size_t count = carried.indices.size();
  std::vector<View> next;
  for (size_t i : carried.indices) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(returned[i]));
    next.push_back(std::move(view));
  }
  auto carries = [&](BufferId id) {
    for (size_t i = 0; i < count; ++i)
      if (b.Root(carried.buffers[i]) == b.Root(id)) return int(i);
    return -1;
  };
  // Which old values other results still need.
  std::vector<bool> wanted(count, false);
  for (size_t i = 0; i < count; ++i) {
    int source = carries(next[i].buffer);
    if (source >= 0 && source != int(i)) wanted[size_t(source)] = true;
  }
  for (size_t i = 0; i < count; ++i) {
    const Buffer& made = b.buffer(next[i].buffer);
    const Buffer& old = b.buffer(carried.buffers[i]);
    bool once = std::count_if(next.begin(), next.end(), [&](const View& view) {
                  return b.Root(view.buffer) == b.Root(next[i].buffer);
                }) == 1;
    if (wanted[i] || !once || made.kind != BufferKind::kTemp || made.first < body_start ||
        made.bytes != old.bytes || !next[i].dense() || next[i].offset != 0)
      continue;
    if (made.first > old.last ||
        (made.first == old.last && b.IsInPlace(carried.buffers[i], next[i].buffer, made.first)))
      b.Merge(next[i].buffer, carried.buffers[i]);
  }
  // Results that are parts of the old state go through a copy, for the state changes under them.
  for (size_t i = 0; i < count; ++i) {
    int source = carries(next[i].buffer);
    const Type& type = loop.type(carried.indices[i]);
    bool unmoved = source == int(i) && next[i].dense() && next[i].offset == 0;
    if (source < 0 || unmoved) continue;
    BufferId copy = b.NewTemp(type.byte_size());
    b.EmitCopy(next[i], DenseView(type, copy));
    next[i] = DenseView(type, copy);
  }
  for (size_t i = 0; i < count; ++i) {
    const Type& type = loop.type(carried.indices[i]);
    if (b.Root(next[i].buffer) != b.Root(carried.buffers[i]))
      b.EmitCopy(next[i], DenseView(type, carried.buffers[i]));
  }
  return Status();
}

}  // namespace

Status LowerWhile(PlanBuilder& b, const Op& op) {
  Carried carried;
  std::vector<View> initial;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (!op.operand_type(i).is_tensor()) continue;
    PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[i]));
    initial.push_back(std::move(view));
    carried.indices.push_back(i);
  }
  Uses uses;
  for (size_t k = 0; k < initial.size(); ++k) {
    BufferId buffer = b.NewResult(op.result(carried.indices[k])).buffer;
    carried.buffers.push_back(buffer);
    b.EmitCopy(initial[k], DenseView(op.type(carried.indices[k]), buffer));
    uses.writes.push_back(buffer);
  }
  auto bind = [&](const program::Block& block) {
    for (size_t k = 0; k < carried.indices.size(); ++k) {
      size_t i = carried.indices[k];
      b.Bind(block.arguments[i].get(), DenseView(op.type(i), carried.buffers[k]));
    }
  };
  const program::Block& cond = *op.regions[0];
  const program::Block& body = *op.regions[1];
  PJRT_PLUGIN_RETURN_IF_ERROR(b.BeginRegion(/*loop=*/true));
  bind(cond);
  PJRT_PLUGIN_RETURN_IF_ERROR(b.LowerOps(cond));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place condition, b.Dense(cond.terminator()->operands[0]));
  const DType condition_type = cond.terminator()->operand_type(0).dtype;
  // The condition's steps end here; the step itself reads the condition before the body may reuse
  // its memory.
  b.Emit("loop condition", {.reads = {condition.buffer}, .writes = {}},
         [](const Frame&) { return Status(); });
  PJRT_PLUGIN_RETURN_IF_ERROR(b.BeginRegion(/*loop=*/false));
  const int body_start = b.position();
  bind(body);
  PJRT_PLUGIN_RETURN_IF_ERROR(b.LowerOps(body));
  PJRT_PLUGIN_RETURN_IF_ERROR(CarryOver(b, op, carried, body_start));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Sequence body_steps, b.EndRegion());
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Sequence cond_steps, b.EndRegion());
  auto cond_sequence = std::make_shared<const Sequence>(std::move(cond_steps));
  auto body_sequence = std::make_shared<const Sequence>(std::move(body_steps));
  ScalarIndex index{condition, condition_type};
  b.EmitControl(op, std::move(uses), {cond_sequence, body_sequence}, [=](const Frame& frame) {
    for (;;) {
      PJRT_PLUGIN_RETURN_IF_ERROR(cond_sequence->Run(frame));
      if (index.Read(frame) == 0) return Status();
      PJRT_PLUGIN_RETURN_IF_ERROR(body_sequence->Run(frame));
    }
  });
  return Status();
}

namespace {

// Runs branch `index`, or the last one when there is none of that number.
Status LowerBranches(PlanBuilder& b, const Op& op, ScalarIndex index,
                     const std::vector<const program::Block*>& branches) {
  std::vector<BufferId> results(op.results.size(), kNoBuffer);
  Uses uses{.reads = {index.place.buffer}, .writes = {}};
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (!op.type(i).is_tensor()) continue;
    results[i] = b.NewResult(op.result(i)).buffer;
    uses.writes.push_back(results[i]);
  }
  std::vector<std::shared_ptr<const Sequence>> sequences;
  for (const program::Block* branch : branches) {
    PJRT_PLUGIN_RETURN_IF_ERROR(b.BeginRegion(/*loop=*/false));
    PJRT_PLUGIN_RETURN_IF_ERROR(b.LowerOps(*branch));
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] == kNoBuffer) continue;
      PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(branch->terminator()->operands[i]));
      b.EmitCopy(view, DenseView(op.type(i), results[i]));
    }
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Sequence steps, b.EndRegion());
    sequences.push_back(std::make_shared<const Sequence>(std::move(steps)));
  }
  b.EmitControl(op, std::move(uses), sequences, [index, sequences](const Frame& frame) {
    int64_t i = index.Read(frame);
    const int64_t last = int64_t(sequences.size()) - 1;
    if (i < 0 || i > last) i = last;
    return sequences[size_t(i)]->Run(frame);
  });
  return Status();
}

}  // namespace

Status LowerCase(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place place, b.Dense(op.operands[0]));
  std::vector<const program::Block*> branches;
  for (const auto& region : op.regions) branches.push_back(region.get());
  return LowerBranches(b, op, {place, op.operand_type(0).dtype}, branches);
}

Status LowerIf(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place place, b.Dense(op.operands[0]));
  return LowerBranches(b, op, {place, op.operand_type(0).dtype},
                       {op.regions[1].get(), op.regions[0].get()});
}

}  // namespace PJRT_PLUGIN_NS::reference
