#include "program/pass_static.h"

#include <numeric>
#include <optional>
#include <utility>

#include "program/rewrite.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

constexpr int64_t kMaxNumbers = 1024;  // more are no shape

// The numbers of a constant.
std::optional<Ints> ConstantInts(const Value* value) {
  const Literal* literal = ConstantOf(value);
  if (literal == nullptr || !backend::IsInt(literal->type.dtype) || literal->type.rank() > 2 ||
      literal->type.num_elements() > kMaxNumbers)
    return std::nullopt;
  Ints ints;
  for (int64_t i = 0; i < literal->type.num_elements(); ++i) ints.push_back(literal->IntAt(i));
  return ints;
}

Ints Range(int64_t from, int64_t to) {
  Ints ints(size_t(to > from ? to - from : 0));
  std::iota(ints.begin(), ints.end(), from);
  return ints;
}

// The same op with the attribute in its place by name; the operands are the first `operands`.
bool BecomeWith(Op& op, OpCode code, size_t operands, std::string name, Ints ints) {
  AttributeList attributes = op.attributes;
  auto at = attributes.begin();
  while (at != attributes.end() && at->name < name) ++at;
  if (at != attributes.end() && at->name == name) at = attributes.erase(at);
  attributes.insert(at, {std::move(name), {std::move(ints)}});
  Become(op, code, {op.operands.begin(), op.operands.begin() + std::ptrdiff_t(operands)},
         std::move(attributes));
  return true;
}

bool BecomePad(Op& op) {
  auto low = ConstantInts(op.operands[2]), high = ConstantInts(op.operands[3]);
  auto interior = ConstantInts(op.operands[4]);
  if (!low || !high || !interior) return false;
  Become(op, OpCode::kPad, {op.operands[0], op.operands[1]},
         {{"edge_padding_high", {*std::move(high)}},
          {"edge_padding_low", {*std::move(low)}},
          {"interior_padding", {*std::move(interior)}}});
  return true;
}

bool BecomeSlice(Op& op) {
  auto start = ConstantInts(op.operands[1]), limit = ConstantInts(op.operands[2]);
  auto strides = ConstantInts(op.operands[3]);
  if (!start || !limit || !strides) return false;
  Become(op, OpCode::kSlice, {op.operands[0]},
         {{"limit_indices", {*std::move(limit)}},
          {"start_indices", {*std::move(start)}},
          {"strides", {*std::move(strides)}}});
  return true;
}

bool BecomeDotGeneral(Op& op) {
  const Ints last = {op.operand_type(0).rank() - 1};
  Become(op, OpCode::kDotGeneral, op.operands,
         {{"lhs_batching_dimensions", {Ints{}}},
          {"lhs_contracting_dimensions", {last}},
          {"precision_config", {op.IntList("precision_config")}},
          {"rhs_batching_dimensions", {Ints{}}},
          {"rhs_contracting_dimensions", {Ints{0}}}});
  return true;
}

// One slice of the operand for each index; the first `batch` dimensions of both go together.
bool BecomeGather(Op& op) {
  const Type& operand = op.operand_type(0);
  const Type& index = op.operand_type(1);
  const int64_t dim = op.Int("dim"), batch = op.Int("batch_dims");
  if (batch < 0 || dim < batch || dim >= operand.rank() || batch > index.rank()) return false;
  const Ints batches = Range(0, batch);
  Ints sizes = operand.dims;
  sizes[size_t(dim)] = 1;
  for (int64_t d : batches) sizes[size_t(d)] = 1;
  Ints offsets = Range(batch, dim);
  const Ints behind = Range(dim + index.rank() - batch, op.type().rank());
  offsets.insert(offsets.end(), behind.begin(), behind.end());
  Become(op, OpCode::kGather, op.operands,
         {{"collapsed_slice_dims", {Ints{dim}}},
          {"index_vector_dim", {index.rank()}},
          {"indices_are_sorted", {false}},
          {"offset_dims", {std::move(offsets)}},
          {"operand_batching_dims", {batches}},
          {"slice_sizes", {std::move(sizes)}},
          {"start_index_map", {Ints{dim}}},
          {"start_indices_batching_dims", {batches}}});
  return true;
}

// Whether the op is another one now.
bool MakeStatic(Op& op) {
  for (const Value* operand : op.operands)
    if (!operand->type.is_tensor()) return false;
  switch (op.code) {
    case OpCode::kDynamicBroadcastInDim:
      Become(op, OpCode::kBroadcastInDim, {op.operands[0]},
             {{"broadcast_dimensions", {op.IntList("broadcast_dimensions")}}});
      return true;
    case OpCode::kDynamicReshape:
      Become(op, OpCode::kReshape, {op.operands[0]}, {});
      return true;
    case OpCode::kDynamicIota:
      Become(op, OpCode::kIota, {}, op.attributes);
      return true;
    case OpCode::kDynamicConv:
      if (auto padding = ConstantInts(op.operands[2]))
        return BecomeWith(op, OpCode::kConvolution, 2, "padding", *std::move(padding));
      return false;
    case OpCode::kDynamicGather:
      if (auto sizes = ConstantInts(op.operands[2]))
        return BecomeWith(op, OpCode::kGather, 2, "slice_sizes", *std::move(sizes));
      return false;
    case OpCode::kDynamicPad:
      return BecomePad(op);
    case OpCode::kRealDynamicSlice:
      return BecomeSlice(op);
    case OpCode::kSetDimensionSize: {
      const auto size = ConstantInts(op.operands[1]);
      const Dims& dims = op.operand_type(0).dims;
      const int64_t dim = op.Int("dimension");
      if (!size || size->size() != 1 || dim < 0 || dim >= op.operand_type(0).rank() ||
          size->front() != dims[size_t(dim)])
        return false;
      Become(op, OpCode::kReshape, {op.operands[0]}, {});
      return true;
    }
    case OpCode::kDot:
      return BecomeDotGeneral(op);
    case OpCode::kTorchIndexSelect:
      return BecomeGather(op);
    default:
      return false;
  }
}

bool MakeStatic(Block& block) {
  bool changed = false;
  for (const auto& op : block.ops) {
    changed = MakeStatic(*op) || changed;
    for (const auto& region : op->regions) changed = MakeStatic(*region) || changed;
  }
  return changed;
}

}  // namespace

bool StaticPass(Module& module) {
  bool changed = false;
  for (const auto& function : module.functions) changed = MakeStatic(function->body) || changed;
  return changed;
}

}  // namespace PJRT_PLUGIN_NS::program
