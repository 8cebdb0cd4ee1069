// Ops that move elements without looking at them.

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "program/verify_op.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

void CheckBroadcast(OpCheck& check) {
  const Op& op = check.op();
  const Type& operand = op.operand_type(0);
  const Ints& dims = op.IntList("broadcast_dimensions");
  if (!check.Require(
          int64_t(dims.size()) == operand.rank() && AreDistinctDims(dims, op.type().rank()),
          "broadcast_dimensions do not give each operand dimension one of the result"))
    return;
  for (size_t i = 0; i < dims.size(); ++i)
    check.Require(operand.dims[i] == 1 || operand.dims[i] == op.type().dims[size_t(dims[i])],
                  "an operand dimension is neither 1 nor that of the result");
}

void CheckOldBroadcast(OpCheck& check) {
  const Op& op = check.op();
  Dims dims = op.IntList("broadcast_sizes");
  dims.insert(dims.end(), op.operand_type(0).dims.begin(), op.operand_type(0).dims.end());
  check.Require(dims == op.type().dims, "the result is not broadcast_sizes, then the operand");
}

void CheckTranspose(OpCheck& check) {
  const Op& op = check.op();
  const Dims& dims = op.operand_type(0).dims;
  const Ints& permutation = op.IntList("permutation");
  if (!check.Require(permutation.size() == dims.size() &&
                         op.type().rank() == int64_t(dims.size()) &&
                         AreDistinctDims(permutation, int64_t(dims.size())),
                     "permutation is none of the operand's dimensions"))
    return;
  for (size_t i = 0; i < dims.size(); ++i)
    check.Require(op.type().dims[i] == dims[size_t(permutation[i])],
                  "the result is not the permuted operand");
}

void CheckSlice(OpCheck& check) {
  const Op& op = check.op();
  const Dims& dims = op.operand_type(0).dims;
  const Ints& starts = op.IntList("start_indices");
  const Ints& limits = op.IntList("limit_indices");
  const Ints& strides = op.IntList("strides");
  if (!check.Require(starts.size() == dims.size() && limits.size() == dims.size() &&
                         strides.size() == dims.size() && op.type().dims.size() == dims.size(),
                     "start, limit and stride are not given for each dimension"))
    return;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!check.Require(
            starts[i] >= 0 && starts[i] <= limits[i] && limits[i] <= dims[i] && strides[i] >= 1,
            "not 0 <= start <= limit <= size with a positive stride"))
      return;
    const int64_t length = limits[i] - starts[i];
    check.Require(op.type().dims[i] == length / strides[i] + (length % strides[i] != 0),
                  "the result is not of the size of the slice");
  }
}

void CheckPad(OpCheck& check) {
  const Op& op = check.op();
  const Dims& dims = op.operand_type(0).dims;
  const Ints& low = op.IntList("edge_padding_low");
  const Ints& high = op.IntList("edge_padding_high");
  const Ints& interior = op.IntList("interior_padding");
  check.Require(IsScalar(op.operand_type(1), op.operand_type(0).dtype),
                "the padding value is not a scalar of the operand's element type");
  if (!check.Require(low.size() == dims.size() && high.size() == dims.size() &&
                         interior.size() == dims.size() && op.type().dims.size() == dims.size(),
                     "the padding is not given for each dimension"))
    return;
  constexpr int64_t kMost = int64_t{1} << 56;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!check.Require(interior[i] >= 0, "interior_padding is negative") ||
        !check.Require(std::max(std::abs(low[i]), std::abs(high[i])) < kMost &&
                           interior[i] < kMost / std::max<int64_t>(dims[i], 1),
                       "the padding is beyond all memory"))
      return;
    const int64_t inner = dims[i] + std::max<int64_t>(dims[i] - 1, 0) * interior[i];
    check.Require(op.type().dims[i] == low[i] + inner + high[i],
                  "the result is not of the padded size");
  }
}

void CheckConcatenate(OpCheck& check) {
  const Op& op = check.op();
  const int64_t dim = op.Int("dimension");
  if (!check.Require(!op.operands.empty(), "there is nothing to concatenate") ||
      !check.Require(dim >= 0 && dim < op.type().rank(), "dimension is out of range"))
    return;
  Type sum = op.operand_type(0);
  if (!check.Require(sum.rank() == op.type().rank(), "operands and result differ in rank")) return;
  sum.dims[size_t(dim)] = 0;
  for (const Value* operand : op.operands) {
    if (!check.Require(operand->type.rank() == sum.rank(), "the operands differ in rank")) return;
    Type piece = operand->type;
    const int64_t size = std::exchange(piece.dims[size_t(dim)], sum.dims[size_t(dim)]);
    check.Require(piece == sum, "the operands differ beyond the dimension of concatenation");
    sum.dims[size_t(dim)] += size;
  }
  check.Require(sum == op.type(), "the result is not the operands one after the other");
}

}  // namespace

void CheckShapeOp(OpCheck& check) {
  const Op& op = check.op();
  if (!op.operands.empty())
    check.Require(op.operand_type(0).dtype == op.type().dtype,
                  "operand and result differ in element type");
  switch (op.code) {
    case OpCode::kBroadcast:
      return CheckOldBroadcast(check);
    case OpCode::kBroadcastInDim:
      return CheckBroadcast(check);
    case OpCode::kConcatenate:
      return CheckConcatenate(check);
    case OpCode::kConstant:
      check.Require(op.Constant().type == op.type(), "the result is not of the value's type");
      return;
    case OpCode::kIota: {
      const int64_t dim = op.Int("iota_dimension");
      check.Require(dim >= 0 && dim < op.type().rank(), "iota_dimension is out of range");
      check.Require(op.type().dtype != DType::kPred, "there are no boolean numbers to count");
      return;
    }
    case OpCode::kPad:
      return CheckPad(check);
    case OpCode::kReshape:
      check.Require(op.operand_type(0).num_elements() == op.type().num_elements(),
                    "operand and result differ in the number of elements");
      return;
    case OpCode::kReverse:
      check.Require(op.operand_type(0) == op.type(), "operand and result differ in type");
      check.Require(AreDistinctDims(op.IntList("dimensions"), op.type().rank()),
                    "dimensions are out of range or repeated");
      return;
    case OpCode::kSlice:
      return CheckSlice(check);
    default:
      return CheckTranspose(check);
  }
}

}  // namespace PJRT_PLUGIN_NS::program
