// Control flow, tuples, and what only passes values on.

#include "program/verify_op.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

std::vector<Type> OperandTypes(const Op& op) {
  std::vector<Type> types;
  for (const Value* value : op.operands) types.push_back(value->type);
  return types;
}

std::vector<Type> ResultTypes(const Op& op) {
  std::vector<Type> types;
  for (const auto& value : op.results) types.push_back(value->type);
  return types;
}

void CheckBranches(OpCheck& check) {
  const Op& op = check.op();
  const DType index = op.code == OpCode::kIf ? DType::kPred : DType::kS32;
  check.Require(IsScalar(op.operand_type(0), index), op.code == OpCode::kIf
                                                         ? "the predicate is not a boolean scalar"
                                                         : "the index is not an i32 scalar");
  check.Require(!op.regions.empty(), "there are no branches");
  const std::vector<Type> results = ResultTypes(op);
  for (const auto& branch : op.regions)
    check.Require(HasSignature(*branch, {}, results),
                  "a branch takes arguments or does not return the op's results");
}

void CheckWhile(OpCheck& check) {
  const Op& op = check.op();
  const std::vector<Type> types = OperandTypes(op);
  check.Require(ResultTypes(op) == types, "operands and results differ in type");
  check.Require(HasSignature(*op.regions[0], types, {Type::Tensor(DType::kPred, {})}),
                "the condition does not map the operands to a boolean scalar");
  check.Require(HasSignature(*op.regions[1], types, types),
                "the body does not map the operands to new ones of their types");
}

void CheckTuple(OpCheck& check) {
  const Op& op = check.op();
  if (op.code == OpCode::kTuple) {
    check.Require(op.type().kind == TypeKind::kTuple && op.type().elements == OperandTypes(op),
                  "the result is not the tuple of the operands");
    return;
  }
  const Type& tuple = op.operand_type(0);
  const int64_t index = op.Int("index");
  if (check.Require(
          tuple.kind == TypeKind::kTuple && index >= 0 && size_t(index) < tuple.elements.size(),
          "the operand is no tuple with that many elements"))
    check.Require(tuple.elements[size_t(index)] == op.type(),
                  "the result is not of the element's type");
}

void CheckCustomCall(OpCheck& check) {
  const Op& op = check.op();
  const auto check_layouts = [&](std::string_view name, const std::vector<Type>& types) {
    const auto& layouts = std::get<std::vector<Attribute>>(op.Find(name)->value);
    const bool in_tuple = types.size() == 1 && types[0].kind == TypeKind::kTuple;
    const size_t count = in_tuple ? types[0].elements.size() : types.size();
    check.Require(layouts.empty() || layouts.size() == count, "there is not one layout a value");
  };
  check_layouts("operand_layouts", OperandTypes(op));
  check_layouts("result_layouts", ResultTypes(op));
}

}  // namespace

void CheckControlFlow(OpCheck& check) {
  const Op& op = check.op();
  switch (op.code) {
    case OpCode::kCase:
    case OpCode::kIf:
      return CheckBranches(check);
    case OpCode::kWhile:
      return CheckWhile(check);
    case OpCode::kTuple:
    case OpCode::kGetTupleElement:
      return CheckTuple(check);
    case OpCode::kCustomCall:
      return CheckCustomCall(check);
    default:  // kOptimizationBarrier
      check.Require(ResultTypes(op) == OperandTypes(op), "operands and results differ in type");
  }
}

}  // namespace PJRT_PLUGIN_NS::program
