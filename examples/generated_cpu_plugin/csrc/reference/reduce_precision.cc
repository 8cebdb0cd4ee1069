#include "reference/reduce_precision.h"

#include <cstring>

namespace PJRT_PLUGIN_NS::reference {
namespace {

using kernels::ElementwiseOp;
using Reg = TapeBuilder::Reg;

struct Format {
  DType bits;  // the unsigned integer as wide
  int exponent, mantissa;
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {DType::kU16, 5, 10};
    case DType::kBF16:
      return {DType::kU16, 8, 7};
    case DType::kF64:
      return {DType::kU64, 11, 52};
    default:
      return {DType::kU32, 8, 23};
  }
}

// Operations on the bits; all of them exist for all of these types.
class Bits {
 public:
  Bits(TapeBuilder& tape, DType type) : tape_(tape), type_(type) {}

  Reg Constant(uint64_t value) const {
    std::byte bytes[sizeof(value)];
    for (size_t i = 0; i < sizeof(value); ++i) bytes[i] = std::byte(value >> (8 * i) & 0xff);
    return tape_.Constant(type_, bytes);  // little-endian, as every platform of the backend is
  }
  template <typename... Regs>
  Reg Apply(ElementwiseOp op, Regs... operands) const {
    const Reg in[] = {operands...};
    return *tape_.Apply(op, in);
  }

 private:
  TapeBuilder& tape_;
  DType type_;
};

}  // namespace

Reg ReducePrecision(TapeBuilder& tape, Reg in, int64_t exponent_bits, int64_t mantissa_bits) {
  const DType type = tape.dtype(in);
  if (backend::DTypeBits(type) <= 8)  // no arithmetic of their own: all their values are f32's
    return tape.Convert(
        ReducePrecision(tape, tape.Convert(in, DType::kF32), exponent_bits, mantissa_bits), type);
  const Format format = FormatOf(type);
  const Bits bits(tape, format.bits);
  const uint64_t exponent_mask = ((uint64_t{1} << format.exponent) - 1) << format.mantissa;
  const uint64_t sign_mask = uint64_t{1} << (format.exponent + format.mantissa);
  Reg x = tape.Bitcast(in, format.bits);

  if (mantissa_bits < format.mantissa) {
    // Adds just below half of the last bit that stays, or the half itself where that bit is set.
    const int64_t cut = format.mantissa - mantissa_bits;
    const uint64_t last = uint64_t{1} << cut;
    Reg odd = bits.Apply(ElementwiseOp::kShiftRightLogical, x, bits.Constant(uint64_t(cut)));
    odd = bits.Apply(ElementwiseOp::kAnd, odd, bits.Constant(1));
    x = bits.Apply(ElementwiseOp::kAdd, x, bits.Constant((last >> 1) - 1));
    x = bits.Apply(ElementwiseOp::kAdd, x, odd);
    x = bits.Apply(ElementwiseOp::kAnd, x, bits.Constant(~(last - 1)));
  }
  if (exponent_bits < format.exponent) {
    const uint64_t bias = (uint64_t{1} << (format.exponent - 1)) - 1;
    const uint64_t reduced_bias = (uint64_t{1} << (exponent_bits - 1)) - 1;
    const Reg exponent = bits.Apply(ElementwiseOp::kAnd, x, bits.Constant(exponent_mask));
    const Reg large = bits.Apply(ElementwiseOp::kCompareGt, exponent,
                                 bits.Constant((bias + reduced_bias) << format.mantissa));
    const Reg small = bits.Apply(ElementwiseOp::kCompareLe, exponent,
                                 bits.Constant((bias - reduced_bias) << format.mantissa));
    const Reg zero = bits.Apply(ElementwiseOp::kAnd, x, bits.Constant(sign_mask));
    const Reg infinity = bits.Apply(ElementwiseOp::kOr, zero, bits.Constant(exponent_mask));
    x = bits.Apply(ElementwiseOp::kSelect, large, infinity, x);
    x = bits.Apply(ElementwiseOp::kSelect, small, zero, x);
  }
  const Reg is_nan = bits.Apply(ElementwiseOp::kCompareNe, in, in);
  return bits.Apply(ElementwiseOp::kSelect, is_nan, in, tape.Bitcast(x, type));
}

}  // namespace PJRT_PLUGIN_NS::reference
