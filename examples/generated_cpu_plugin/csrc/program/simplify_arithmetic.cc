#include <bit>
#include <cmath>
#include <cstring>

#include "program/float_bits.h"
#include "program/rewrite.h"
#include "program/simplify_op.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// Whether all elements of the value are `number`; for floats with its sign: -0.0 is not 0.0.
bool IsAll(const Value* value, double number) {
  const Literal* literal = ConstantOf(value);
  if (literal == nullptr || !literal->splat || backend::IsComplex(literal->type.dtype))
    return false;
  if (!backend::IsFloat(literal->type.dtype)) return double(literal->IntAt(0)) == number;
  uint64_t bits = 0;
  std::memcpy(&bits, literal->bytes(), backend::DTypeBytes(literal->type.dtype));
  const double held = FloatFromBits(literal->type.dtype, bits);
  return held == number && std::signbit(held) == std::signbit(number);
}

// All bits set, of an integer or boolean.
bool IsAllOnes(const Value* value) {
  const bool is_signed = backend::IsSignedInt(value->type.dtype);
  const Literal* literal = ConstantOf(value);
  if (literal == nullptr || !literal->splat || is_signed) return IsAll(value, -1);
  const int bits = int(backend::DTypeBits(value->type.dtype));
  return (backend::IsUnsignedInt(value->type.dtype) || value->type.dtype == DType::kPred) &&
         uint64_t(literal->IntAt(0)) == ~uint64_t{0} >> (64 - bits);
}

// The operand of `value` when that is a `code` of one.
Value* OperandOf(const Value* value, OpCode code) {
  return value->op != nullptr && value->op->code == code ? value->op->operands[0] : nullptr;
}

Value* SimplifySelect(Op& op) {
  if (op.operands[1] == op.operands[2]) return op.operands[1];
  const Literal* predicate = ConstantOf(op.operands[0]);
  if (predicate == nullptr || !predicate->splat) return nullptr;
  return op.operands[predicate->IntAt(0) != 0 ? 1 : 2];
}

Value* SimplifyBitwise(Op& op) {
  Value* lhs = op.operands[0];
  Value* rhs = op.operands[1];
  if (lhs == rhs && op.code != OpCode::kXor) return lhs;
  if (IsAll(rhs, 0)) return op.code == OpCode::kAnd ? rhs : lhs;
  if (IsAll(lhs, 0)) return op.code == OpCode::kAnd ? lhs : rhs;
  if (op.code == OpCode::kXor) return nullptr;
  if (IsAllOnes(rhs)) return op.code == OpCode::kAnd ? lhs : rhs;
  if (IsAllOnes(lhs)) return op.code == OpCode::kAnd ? rhs : lhs;
  return nullptr;
}

}  // namespace

Value* SimplifyArithmetic(Op& op) {
  const DType dtype = op.type().dtype;
  const bool is_float = backend::IsFloat(dtype);
  Value* first = op.operands.empty() ? nullptr : op.operands[0];
  switch (op.code) {
    case OpCode::kAdd:  // a float keeps its sign of zero only when -0.0 is added
      if (dtype == DType::kPred) return nullptr;
      if (IsAll(op.operands[1], is_float ? -0.0 : 0)) return first;
      return IsAll(first, is_float ? -0.0 : 0) ? op.operands[1] : nullptr;
    case OpCode::kSubtract:
      return IsAll(op.operands[1], 0) ? first : nullptr;
    case OpCode::kMultiply:
      if (IsAll(op.operands[1], 1)) return first;
      return IsAll(first, 1) ? op.operands[1] : nullptr;
    case OpCode::kDivide:
      return IsAll(op.operands[1], 1) ? first : nullptr;
    case OpCode::kAnd:
    case OpCode::kOr:
    case OpCode::kXor:
      return SimplifyBitwise(op);
    case OpCode::kMaximum:
    case OpCode::kMinimum:
      return first == op.operands[1] ? first : nullptr;
    case OpCode::kShiftLeft:
    case OpCode::kShiftRightArithmetic:
    case OpCode::kShiftRightLogical:
      return IsAll(op.operands[1], 0) ? first : nullptr;
    case OpCode::kNot:
    case OpCode::kNegate:
      return OperandOf(first, op.code);
    case OpCode::kConvert:
    case OpCode::kBitcastConvert:
      return first->type == op.type() ? first : nullptr;
    case OpCode::kReal: {
      if (first->type == op.type()) return first;
      return OperandOf(first, OpCode::kComplex);
    }
    case OpCode::kImag:
      return OperandOf(first, OpCode::kComplex) != nullptr ? first->op->operands[1] : nullptr;
    case OpCode::kGetDimensionSize:
      if (const int64_t dim = op.Int("dimension");
          dim >= 0 && dim < first->type.rank() && backend::IsInt(dtype) && op.type().is_tensor())
        BecomeConstant(op, IntSplat(op.type(), first->type.dims[size_t(dim)]));
      return nullptr;
    case OpCode::kGetTupleElement:
      if (OperandOf(first, OpCode::kTuple) == nullptr) return nullptr;
      return first->op->operands[size_t(op.Int("index"))];
    case OpCode::kSelect:
      return SimplifySelect(op);
    default:
      return nullptr;
  }
}

}  // namespace PJRT_PLUGIN_NS::program
