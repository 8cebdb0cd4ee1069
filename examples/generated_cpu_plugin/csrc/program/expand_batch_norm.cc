#include "program/expand_batch_norm.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "program/float_bits.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// Makes ops on arrays of the operand's shape and on one number a feature. Halves are computed in
// f32.
class NormBuilder {
 public:
  NormBuilder(const Op& op, Block& block)
      : op_(op),
        block_(block),
        dtype_(op.operand_type(0).dtype),
        feature_(op.Int("feature_index")) {
    const Dims& dims = op.operand_type(0).dims;
    if (backend::DTypeBits(dtype_) < 32) dtype_ = DType::kF32;
    whole_ = Type::Tensor(dtype_, dims);
    features_ = Type::Tensor(dtype_, {dims[size_t(feature_)]});
    for (size_t d = 0; d < dims.size(); ++d) {
      if (int64_t(d) == feature_) continue;
      others_.push_back(int64_t(d));
      count_ *= double(dims[d]);
    }
  }

  double count() const { return count_; }

  Value* Operand(size_t i) {
    Value* value = op_.operands[i];
    if (value->type.dtype == dtype_) return value;
    return Add(OpCode::kConvert, {value}, Type::Tensor(dtype_, value->type.dims));
  }
  Value* Apply(OpCode code, std::vector<Value*> operands) {
    Type type = operands[0]->type;
    return Add(code, std::move(operands), std::move(type));
  }
  Value* Number(double number, const Type& type) {
    const uint64_t bits = FloatToBits(dtype_, number);
    std::byte bytes[sizeof(bits)];
    std::memcpy(bytes, &bits, sizeof(bits));
    return Add(OpCode::kConstant, {}, type,
               {{"value", {Splat(type, bytes, backend::DTypeBytes(dtype_))}}});
  }
  // One number a feature, for each element.
  Value* Spread(Value* features) {
    return Add(OpCode::kBroadcastInDim, {features}, whole_,
               {{"broadcast_dimensions", {Ints{feature_}}}});
  }
  // The sum of each feature's elements.
  Value* Sum(Value* whole) {
    const Type scalar = Type::Tensor(dtype_, {});
    Value* zero = Number(0, scalar);
    Op* reduce = AppendOp(block_, op_.location, OpCode::kReduce, {whole, zero}, {features_},
                          {{"dimensions", {others_}}});
    auto body = std::make_unique<Block>();
    for (size_t i = 0; i < 2; ++i)
      body->arguments.push_back(std::make_unique<Value>(Value{scalar, nullptr, body.get(), i}));
    Op* sum = AppendOp(*body, op_.location, OpCode::kAdd,
                       {body->arguments[0].get(), body->arguments[1].get()}, {scalar}, {});
    AppendOp(*body, op_.location, OpCode::kReturn, {sum->result()}, {}, {});
    reduce->regions.push_back(std::move(body));
    return reduce->result();
  }
  Value* Mean(Value* whole) {
    Value* sum = Sum(whole);
    return Apply(OpCode::kDivide, {sum, Number(count_, features_)});
  }
  // 1 / sqrt(variance + epsilon)
  Value* Scale(Value* variance) {
    Value* epsilon = Number(std::get<double>(op_.Find("epsilon")->value), features_);
    return Apply(OpCode::kRsqrt, {Apply(OpCode::kAdd, {variance, epsilon})});
  }
  Value* Centered(Value* operand, Value* mean) {
    return Apply(OpCode::kSubtract, {operand, Spread(mean)});
  }
  // centered * factor + offset
  Value* Affine(Value* centered, Value* factor, Value* offset) {
    Value* scaled = Apply(OpCode::kMultiply, {centered, Spread(factor)});
    return Apply(OpCode::kAdd, {scaled, Spread(offset)});
  }
  // As the op's result `i`.
  void Result(size_t i, Value* value, Replacements& replacements) {
    if (value->type.dtype != op_.type(i).dtype) value = Add(OpCode::kConvert, {value}, op_.type(i));
    replacements.Replace(op_.result(i), value);
  }

 private:
  Value* Add(OpCode code, std::vector<Value*> operands, Type type, AttributeList attributes = {}) {
    return AppendOp(block_, op_.location, code, std::move(operands), {std::move(type)},
                    std::move(attributes))
        ->result();
  }

  const Op& op_;
  Block& block_;
  DType dtype_;
  int64_t feature_;
  Type whole_, features_;
  Ints others_;
  double count_ = 1;
};

void ExpandTraining(NormBuilder b, Replacements& replacements) {
  Value* operand = b.Operand(0);
  Value* mean = b.Mean(operand);
  Value* centered = b.Centered(operand, mean);
  Value* variance = b.Mean(b.Apply(OpCode::kMultiply, {centered, centered}));
  Value* factor = b.Apply(OpCode::kMultiply, {b.Scale(variance), b.Operand(1)});
  b.Result(0, b.Affine(centered, factor, b.Operand(2)), replacements);
  b.Result(1, mean, replacements);
  b.Result(2, variance, replacements);
}

void ExpandInference(NormBuilder b, Replacements& replacements) {
  Value* centered = b.Centered(b.Operand(0), b.Operand(3));
  Value* factor = b.Apply(OpCode::kMultiply, {b.Scale(b.Operand(4)), b.Operand(1)});
  b.Result(0, b.Affine(centered, factor, b.Operand(2)), replacements);
}

void ExpandGrad(NormBuilder b, Replacements& replacements) {
  Value* centered = b.Centered(b.Operand(0), b.Operand(2));
  Value* scale = b.Scale(b.Operand(3));
  Value* gradient = b.Operand(4);
  Value* offset = b.Sum(gradient);
  Value* product = b.Sum(b.Apply(OpCode::kMultiply, {gradient, centered}));
  // scale * (gradient - mean(gradient) - centered * mean(gradient * centered) / (variance + eps))
  Value* count = b.Number(b.count(), offset->type);
  Value* mean = b.Apply(OpCode::kDivide, {offset, count});
  Value* slope = b.Apply(OpCode::kDivide, {product, count});
  slope = b.Apply(OpCode::kMultiply, {slope, b.Apply(OpCode::kMultiply, {scale, scale})});
  Value* bent = b.Apply(OpCode::kMultiply, {centered, b.Spread(slope)});
  Value* rest =
      b.Apply(OpCode::kSubtract, {b.Apply(OpCode::kSubtract, {gradient, b.Spread(mean)}), bent});
  Value* factor = b.Apply(OpCode::kMultiply, {scale, b.Operand(1)});
  b.Result(0, b.Apply(OpCode::kMultiply, {rest, b.Spread(factor)}), replacements);
  b.Result(1, b.Apply(OpCode::kMultiply, {product, scale}), replacements);
  b.Result(2, offset, replacements);
}

}  // namespace

bool ExpandBatchNorm(const Op& op, Block& block, Replacements& replacements) {
  switch (op.code) {
    case OpCode::kBatchNormTraining:
      ExpandTraining(NormBuilder(op, block), replacements);
      return true;
    case OpCode::kBatchNormInference:
      ExpandInference(NormBuilder(op, block), replacements);
      return true;
    case OpCode::kBatchNormGrad:
      ExpandGrad(NormBuilder(op, block), replacements);
      return true;
    default:
      return false;
  }
}

}  // namespace PJRT_PLUGIN_NS::program
