#include "reference/body.h"

#include <unordered_map>
#include <utility>

#include "reference/fuse_elementwise.h"

namespace PJRT_PLUGIN_NS::reference {

using kernels::ElementwiseOp;
using kernels::ReduceOp;
using program::Block;
using program::OpCode;

std::optional<ElementwiseOp> SingleOpOf(const Block& body) {
  if (body.ops.size() != 2 || body.arguments.size() != 2) return std::nullopt;
  const Op& op = *body.ops[0];
  const Op& end = *body.terminator();
  if (op.operands.size() != 2 || end.operands.size() != 1 || end.operands[0] != op.result())
    return std::nullopt;
  const Value* a = body.arguments[0].get();
  const Value* b = body.arguments[1].get();
  bool both =
      (op.operands[0] == a && op.operands[1] == b) || (op.operands[0] == b && op.operands[1] == a);
  if (!both || op.code == OpCode::kCompare) return std::nullopt;
  return KernelOf(op);
}

std::optional<ReduceOp> ReduceOpOf(ElementwiseOp op) {
  switch (op) {
    case ElementwiseOp::kAdd:
      return ReduceOp::kAdd;
    case ElementwiseOp::kMultiply:
      return ReduceOp::kMultiply;
    case ElementwiseOp::kMaximum:
      return ReduceOp::kMaximum;
    case ElementwiseOp::kMinimum:
      return ReduceOp::kMinimum;
    case ElementwiseOp::kAnd:
      return ReduceOp::kAnd;
    case ElementwiseOp::kOr:
      return ReduceOp::kOr;
    case ElementwiseOp::kXor:
      return ReduceOp::kXor;
    default:
      return std::nullopt;
  }
}

bool ReturnsArgument(const Block& body, size_t index) {
  const Op& end = *body.terminator();
  return body.ops.size() == 1 && end.operands.size() == 1 &&
         end.operands[0] == body.arguments[index].get();
}

namespace {

Result<BodyTape> MakeTape(PlanBuilder& b, const Op& op, const Block& body,
                          std::span<Value* const> outputs, const StridedLoad* load) {
  TapeBuilder tape;
  BodyTape result;
  std::unordered_map<const Value*, TapeBuilder::Reg> regs;
  for (const auto& argument : body.arguments) {
    const bool strided = load != nullptr && argument->index >= body.arguments.size() / 2;
    regs[argument.get()] =
        strided ? tape.StridedInput(argument->type.dtype, *load) : tape.Input(argument->type.dtype);
  }
  auto operand = [&](const Value* value) -> Result<TapeBuilder::Reg> {
    if (auto it = regs.find(value); it != regs.end()) return it->second;
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place place, b.Dense(value));
    result.captured.push_back(place);
    return regs[value] = tape.ScalarInput(value->type.dtype);
  };
  for (const auto& one : body.ops) {
    if (one->code == OpCode::kReturn) break;
    if (one->code == OpCode::kConstant) {
      const Type& type = one->type();
      regs[one->result()] = tape.Constant(type.dtype, one->Constant().bytes());
      continue;
    }
    std::vector<TapeBuilder::Reg> operands;
    for (const Value* value : one->operands) {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(TapeBuilder::Reg reg, operand(value));
      operands.push_back(reg);
    }
    bool scalar_copy = one->code == OpCode::kReshape || one->code == OpCode::kBroadcastInDim ||
                       one->code == OpCode::kOptimizationBarrier ||
                       one->code == OpCode::kSdyShardingConstraint;
    std::optional<TapeBuilder::Reg> reg;
    if (scalar_copy && one->results.size() == 1) {
      reg = operands[0];
    } else if (IsElementwise(*one)) {
      reg = AddToTape(tape, *one, operands);
    }
    if (!reg)
      return PlanBuilder::Unsupported(
          op, "its body holds " + PlanBuilder::Describe(*one) + ", which is not elementwise");
    regs[one->result()] = *reg;
  }
  for (const Value* value : outputs) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(TapeBuilder::Reg reg, operand(value));
    tape.Output(reg);
  }
  result.tape = std::make_shared<const Tape>(std::move(tape).Build());
  return result;
}

}  // namespace

Result<BodyTape> TapeOfBody(PlanBuilder& b, const Op& op, const Block& body) {
  return MakeTape(b, op, body, body.terminator()->operands, nullptr);
}

Result<BodyTape> TapeOfBody(PlanBuilder& b, const Op& op, const Block& body,
                            std::span<Value* const> outputs) {
  return MakeTape(b, op, body, outputs, nullptr);
}

Result<BodyTape> TapeOfBody(PlanBuilder& b, const Op& op, const Block& body,
                            const StridedLoad& load) {
  return MakeTape(b, op, body, body.terminator()->operands, &load);
}

}  // namespace PJRT_PLUGIN_NS::reference
