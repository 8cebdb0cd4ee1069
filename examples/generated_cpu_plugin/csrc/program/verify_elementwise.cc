#include <algorithm>

#include "program/verify_op.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// Classes of element types, to be added up.
enum Class : unsigned { kBool = 1, kSigned = 2, kUnsigned = 4, kReal = 8, kComplex = 16 };
constexpr unsigned kInts = kSigned | kUnsigned;
constexpr unsigned kNumbers = kInts | kReal | kComplex;
constexpr unsigned kAll = kNumbers | kBool;

Class ClassOf(DType dtype) {
  if (dtype == DType::kPred) return kBool;
  if (backend::IsSignedInt(dtype)) return kSigned;
  if (backend::IsUnsignedInt(dtype)) return kUnsigned;
  return backend::IsFloat(dtype) ? kReal : kComplex;
}

// What the operands' elements may be.
unsigned Accepted(OpCode code) {
  switch (code) {
    case OpCode::kAbs:
    case OpCode::kSign:
      return kSigned | kReal | kComplex;
    case OpCode::kAnd:
    case OpCode::kOr:
    case OpCode::kXor:
    case OpCode::kNot:
      return kInts | kBool;
    case OpCode::kCountLeadingZeros:
    case OpCode::kPopcnt:
    case OpCode::kShiftLeft:
    case OpCode::kShiftRightArithmetic:
    case OpCode::kShiftRightLogical:
      return kInts;
    case OpCode::kCeil:
    case OpCode::kFloor:
    case OpCode::kRoundNearestAfz:
    case OpCode::kRoundNearestEven:
    case OpCode::kIsFinite:
    case OpCode::kComplex:
    case OpCode::kReducePrecision:
      return kReal;
    case OpCode::kAtan2:
    case OpCode::kCbrt:
    case OpCode::kCosine:
    case OpCode::kExponential:
    case OpCode::kExponentialMinusOne:
    case OpCode::kLog:
    case OpCode::kLogPlusOne:
    case OpCode::kLogistic:
    case OpCode::kRsqrt:
    case OpCode::kSine:
    case OpCode::kSqrt:
    case OpCode::kTan:
    case OpCode::kTanh:
    case OpCode::kReal:
    case OpCode::kImag:
      return kReal | kComplex;
    case OpCode::kDivide:
    case OpCode::kNegate:
    case OpCode::kPower:
    case OpCode::kRemainder:
    case OpCode::kSubtract:
      return kNumbers;
    default:
      return kAll;
  }
}

DType PartOf(DType dtype) {
  return dtype == DType::kC64 ? DType::kF32 : dtype == DType::kC128 ? DType::kF64 : dtype;
}

void CheckSelectOrClamp(OpCheck& check) {
  const Op& op = check.op();
  const bool is_select = op.code == OpCode::kSelect;
  const Type& value = op.operand_type(1);
  check.Require(value == op.type(), "the result is not of the type of the values");
  if (is_select) {
    check.Require(value == op.operand_type(2), "the values are not of one type");
    check.Require(op.operand_type(0).dtype == DType::kPred, "the predicate is not boolean");
  } else {
    check.Require(
        op.operand_type(0).dtype == value.dtype && op.operand_type(2).dtype == value.dtype,
        "the bounds are not of the operand's element type");
    check.Require(op.operand_type(2).rank() == 0 || op.operand_type(2).dims == value.dims,
                  "max is neither a scalar nor of the operand's shape");
  }
  check.Require(op.operand_type(0).rank() == 0 || op.operand_type(0).dims == value.dims,
                is_select ? "the predicate is neither a scalar nor of the values' shape"
                          : "min is neither a scalar nor of the operand's shape");
}

void CheckBitcast(OpCheck& check) {
  const Type& from = check.op().operand_type(0);
  const Type& to = check.op().type();
  const size_t from_bits = backend::DTypeBits(from.dtype);
  const size_t to_bits = backend::DTypeBits(to.dtype);
  check.Require(backend::IsComplex(from.dtype) == backend::IsComplex(to.dtype),
                "complex numbers and others have no common bits");
  // The wider side has one dimension less: its elements are the last dimension of the other.
  Type wide = from_bits > to_bits ? from : to;
  const Type& narrow = from_bits > to_bits ? to : from;
  if (from_bits != to_bits)
    wide.dims.push_back(int64_t(std::max(from_bits, to_bits) / std::min(from_bits, to_bits)));
  check.Require(wide.dims == narrow.dims, "the shapes do not hold the same bits");
}

}  // namespace

void CheckElementwise(OpCheck& check) {
  const Op& op = check.op();
  const Type& first = op.operand_type(0);
  const Type& result = op.type();
  if (op.code == OpCode::kSelect || op.code == OpCode::kClamp) return CheckSelectOrClamp(check);
  if (op.code == OpCode::kBitcastConvert) return CheckBitcast(check);
  check.Require(Accepted(op.code) & ClassOf(first.dtype),
                "the operation is not defined for this element type");
  check.Require(first.dims == result.dims, "operand and result differ in shape");
  if (op.operands.size() == 2)
    check.Require(first == op.operand_type(1), "the operands differ in type");
  switch (op.code) {
    case OpCode::kConvert:
      break;
    case OpCode::kCompare:
    case OpCode::kIsFinite:
      check.Require(result.dtype == DType::kPred, "the result is not boolean");
      break;
    case OpCode::kComplex:
      check.Require(backend::IsComplex(result.dtype) && PartOf(result.dtype) == first.dtype,
                    "the result is not the complex type of the operands");
      break;
    case OpCode::kAbs:
    case OpCode::kReal:
    case OpCode::kImag:
      check.Require(result.dtype == PartOf(first.dtype),
                    "the result is not of the type of the operand's parts");
      break;
    case OpCode::kReducePrecision:
      check.Require(op.Int("exponent_bits") >= 1 && op.Int("mantissa_bits") >= 0,
                    "exponent_bits below 1 or mantissa_bits below 0");
      [[fallthrough]];
    default:
      check.Require(result.dtype == first.dtype, "operand and result differ in element type");
  }
}

}  // namespace PJRT_PLUGIN_NS::program
