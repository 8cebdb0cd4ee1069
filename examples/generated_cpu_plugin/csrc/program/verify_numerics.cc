// Linear algebra, Fourier transforms, random numbers, batch normalisation.

#include "program/verify_op.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

bool IsSquare(const Type& type) {
  const size_t rank = type.dims.size();
  return rank >= 2 && type.dims[rank - 1] == type.dims[rank - 2];
}

void CheckTriangularSolve(OpCheck& check) {
  const Op& op = check.op();
  const Type& a = op.operand_type(0);
  const Type& b = op.operand_type(1);
  check.Require(a.dtype == b.dtype && op.type() == b, "a, b and result differ in type");
  if (!check.Require(IsSquare(a) && a.rank() == b.rank(),
                     "a is not square matrices, or b has another rank"))
    return;
  for (size_t i = 0; i + 2 < a.dims.size(); ++i)
    check.Require(a.dims[i] == b.dims[i], "the batch dimensions of a and b differ");
  check.Require(a.dims.back() == b.dims[b.dims.size() - (op.Bool("left_side") ? 2 : 1)],
                "the matrices of a and b do not fit");
  check.Require(op.As<Transpose>("transpose_a") != Transpose::kInvalid, "transpose_a is invalid");
}

void CheckFft(OpCheck& check) {
  const Op& op = check.op();
  const Type& from = op.operand_type(0);
  const Type& to = op.type();
  const Ints& lengths = op.IntList("fft_length");
  const FftType type = op.As<FftType>("fft_type");
  if (!check.Require(lengths.size() >= 1 && lengths.size() <= 3 &&
                         int64_t(lengths.size()) <= from.rank() && from.rank() == to.rank(),
                     "fft_length is not one to three of the operand's dimensions"))
    return;
  check.Require(backend::IsComplex(from.dtype) == (type != FftType::kRfft) &&
                    backend::IsComplex(to.dtype) == (type != FftType::kIrfft),
                "operand or result is real where it should be complex, or the other way round");
  check.Require(backend::DTypeBits(from.dtype) * (type == FftType::kRfft ? 2 : 1) ==
                    backend::DTypeBits(to.dtype) * (type == FftType::kIrfft ? 2 : 1),
                "operand and result differ in precision");
  // The real side has the lengths; of the complex side of a real transform, half of the last is
  // kept.
  Dims real = type == FftType::kIrfft ? to.dims : from.dims;
  const Dims& other = type == FftType::kIrfft ? from.dims : to.dims;
  const size_t outer = real.size() - lengths.size();
  for (size_t i = 0; i < lengths.size(); ++i)
    check.Require(real[outer + i] == lengths[i], "fft_length is not the size of the dimensions");
  if ((type == FftType::kRfft || type == FftType::kIrfft) && real.back() > 0)
    real.back() = real.back() / 2 + 1;
  check.Require(real == other, "the result is not of the transform's shape");
}

void CheckRng(OpCheck& check) {
  const Op& op = check.op();
  const Type& shape = op.operand_type(2);
  check.Require(
      IsScalar(op.operand_type(0), op.type().dtype) && op.operand_type(1) == op.operand_type(0),
      "the bounds are not scalars of the result's element type");
  check.Require(backend::IsInt(shape.dtype) && shape.dims == Dims{op.type().rank()},
                "the shape is not one integer a dimension of the result");
}

// The results and the parameters of one dimension of the operand.
void CheckBatchNorm(OpCheck& check) {
  const Op& op = check.op();
  const Type& operand = op.operand_type(0);
  const int64_t feature = op.Int("feature_index");
  if (!check.Require(feature >= 0 && feature < operand.rank(), "feature_index is out of range"))
    return;
  const Type features = Type::Tensor(operand.dtype, {operand.dims[size_t(feature)]});
  for (size_t i = 1; i < op.operands.size(); ++i) {
    const bool whole = op.code == OpCode::kBatchNormGrad && i == 4;
    check.Require(op.operand_type(i) == (whole ? operand : features),
                  "a parameter is not one number a feature");
  }
  check.Require(op.type() == operand, "operand and result differ in type");
  for (size_t i = 1; i < op.results.size(); ++i)
    check.Require(op.type(i) == features, "a result is not one number a feature");
}

}  // namespace

void CheckNumerics(OpCheck& check) {
  const Op& op = check.op();
  switch (op.code) {
    case OpCode::kCholesky:
      check.Require(IsSquare(op.operand_type(0)), "the operand is not square matrices");
      check.Require(op.type() == op.operand_type(0), "operand and result differ in type");
      return;
    case OpCode::kTriangularSolve:
      return CheckTriangularSolve(check);
    case OpCode::kFft:
      return CheckFft(check);
    case OpCode::kRng:
      return CheckRng(check);
    case OpCode::kRngBitGenerator:
      check.Require(op.type(0) == op.operand_type(0) && op.operand_type(0).rank() == 1 &&
                        backend::IsUnsignedInt(op.operand_type(0).dtype),
                    "the state is not a vector of unsigned integers, before as after");
      check.Require(backend::IsInt(op.type(1).dtype) || backend::IsFloat(op.type(1).dtype),
                    "the output is neither integers nor floats");
      return;
    default:
      return CheckBatchNorm(check);
  }
}

}  // namespace PJRT_PLUGIN_NS::program
