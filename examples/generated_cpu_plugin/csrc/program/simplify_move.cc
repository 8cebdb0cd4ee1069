#include <algorithm>
#include <utility>

#include "program/op_table.h"
#include "program/rewrite.h"
#include "program/simplify_op.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

bool AreAll(const Ints& ints, int64_t value) {
  return std::all_of(ints.begin(), ints.end(), [=](int64_t one) { return one == value; });
}

bool IsIota(const Ints& ints) {
  for (size_t i = 0; i < ints.size(); ++i)
    if (ints[i] != int64_t(i)) return false;
  return true;
}

// The op that defines the only operand, when that is a `code`.
const Op* Producer(const Op& op, OpCode code) {
  const Op* producer = op.operands[0]->op;
  return producer != nullptr && producer->code == code ? producer : nullptr;
}

Value* SimplifyReshape(Op& op) {
  if (const Op* inner = Producer(op, OpCode::kReshape)) op.operands[0] = inner->operands[0];
  return op.operand_type(0) == op.type() ? op.operands[0] : nullptr;
}

Value* SimplifyTranspose(Op& op) {
  if (const Op* inner = Producer(op, OpCode::kTranspose)) {
    Ints permutation = op.IntList("permutation");
    for (int64_t& dim : permutation) dim = inner->IntList("permutation")[size_t(dim)];
    Become(op, OpCode::kTranspose, {inner->operands[0]}, {{"permutation", {permutation}}});
  }
  return IsIota(op.IntList("permutation")) ? op.operands[0] : nullptr;
}

Value* SimplifyBroadcast(Op& op) {
  if (const Op* inner = Producer(op, OpCode::kBroadcastInDim)) {
    Ints dims = inner->IntList("broadcast_dimensions");
    for (int64_t& dim : dims) dim = op.IntList("broadcast_dimensions")[size_t(dim)];
    Become(op, OpCode::kBroadcastInDim, {inner->operands[0]}, {{"broadcast_dimensions", {dims}}});
  }
  const Ints& dims = op.IntList("broadcast_dimensions");
  if (op.operand_type(0) == op.type() && IsIota(dims)) return op.operands[0];
  // With as many elements and the dimensions in order only dimensions of size 1 are new.
  if (op.operand_type(0).num_elements() == op.type().num_elements() &&
      op.type().num_elements() > 0 && std::is_sorted(dims.begin(), dims.end()))
    Become(op, OpCode::kReshape, {op.operands[0]}, {});
  return nullptr;
}

Value* SimplifySlice(Op& op) {
  return op.operand_type(0) == op.type() && AreAll(op.IntList("strides"), 1) ? op.operands[0]
                                                                             : nullptr;
}

Value* SimplifyPad(Op& op) {
  return AreAll(op.IntList("edge_padding_low"), 0) && AreAll(op.IntList("edge_padding_high"), 0) &&
                 op.operand_type(0) == op.type()
             ? op.operands[0]
             : nullptr;
}

Value* SimplifyReverse(Op& op) {
  for (int64_t dim : op.IntList("dimensions"))
    if (op.type().dims[size_t(dim)] > 1) return nullptr;
  return op.operands[0];
}

// Leaves out pieces without elements.
Value* SimplifyConcatenate(Op& op) {
  const size_t dim = size_t(op.Int("dimension"));
  if (op.type().num_elements() > 0)
    std::erase_if(op.operands, [=](const Value* piece) { return piece->type.dims[dim] == 0; });
  return op.operands.size() == 1 ? op.operands[0] : nullptr;
}

// The start indices when all are constants, held within what the slice leaves room for, as the op
// does.
bool ConstantStarts(const Op& op, size_t slot, const Dims& sizes, Ints& starts) {
  const std::span<Value* const> operands = Operands(op, slot);
  for (size_t i = 0; i < operands.size(); ++i) {
    const Literal* start = ConstantOf(operands[i]);
    if (start == nullptr) return false;
    const int64_t room = op.operand_type(0).dims[i] - sizes[i];
    const int64_t at = start->IntAt(0);
    const bool huge = start->type.dtype == DType::kU64 && at < 0;
    starts.push_back(huge ? room : std::clamp<int64_t>(at, 0, room));
  }
  return true;
}

Value* SimplifyDynamicSlice(Op& op) {
  const Ints sizes = op.IntList("slice_sizes");
  if (op.operand_type(0) == op.type()) return op.operands[0];  // there is only one place
  Ints starts;
  if (!ConstantStarts(op, 1, sizes, starts)) return nullptr;
  Ints limits = starts;
  for (size_t i = 0; i < limits.size(); ++i) limits[i] += sizes[i];
  Become(op, OpCode::kSlice, {op.operands[0]},
         {{"limit_indices", {std::move(limits)}},
          {"start_indices", {std::move(starts)}},
          {"strides", {Ints(sizes.size(), 1)}}});
  return nullptr;
}

}  // namespace

Value* SimplifyMove(Op& op) {
  switch (op.code) {
    case OpCode::kBroadcastInDim:
      return SimplifyBroadcast(op);
    case OpCode::kConcatenate:
      return SimplifyConcatenate(op);
    case OpCode::kDynamicSlice:
      return SimplifyDynamicSlice(op);
    case OpCode::kDynamicUpdateSlice:
      return op.operand_type(1) == op.type() ? op.operands[1] : nullptr;
    case OpCode::kIota:
      if (op.type().dims[size_t(op.Int("iota_dimension"))] == 1 && backend::IsInt(op.type().dtype))
        BecomeConstant(op, IntSplat(op.type(), 0));
      return nullptr;
    case OpCode::kPad:
      return SimplifyPad(op);
    case OpCode::kReshape:
      return SimplifyReshape(op);
    case OpCode::kReverse:
      return SimplifyReverse(op);
    case OpCode::kSlice:
      return SimplifySlice(op);
    case OpCode::kTranspose:
      return SimplifyTranspose(op);
    default:
      return nullptr;
  }
}

}  // namespace PJRT_PLUGIN_NS::program
