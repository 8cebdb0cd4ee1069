#include "program/rewrite.h"

#include <cstring>
#include <utility>

namespace PJRT_PLUGIN_NS::program {

std::unique_ptr<Op> Clone(const Op& op, Replacements& replacements) {
  auto copy = std::make_unique<Op>();
  copy->code = op.code;
  copy->attributes = op.attributes;
  copy->discardable = op.discardable;
  copy->location = op.location;
  copy->operands.reserve(op.operands.size());
  for (Value* operand : op.operands) copy->operands.push_back(replacements.Of(operand));
  for (const auto& result : op.results) {
    copy->results.push_back(
        std::make_unique<Value>(Value{result->type, copy.get(), nullptr, result->index}));
    replacements.Replace(result.get(), copy->results.back().get());
  }
  for (const auto& region : op.regions) {
    auto block = std::make_unique<Block>();
    for (const auto& argument : region->arguments) {
      block->arguments.push_back(
          std::make_unique<Value>(Value{argument->type, nullptr, block.get(), argument->index}));
      replacements.Replace(argument.get(), block->arguments.back().get());
    }
    for (const auto& inner : region->ops) block->ops.push_back(Clone(*inner, replacements));
    copy->regions.push_back(std::move(block));
  }
  return copy;
}

const Literal* ConstantOf(const Value* value) {
  if (value->op == nullptr || value->op->code != OpCode::kConstant) return nullptr;
  return &value->op->Constant();
}

void Become(Op& op, OpCode code, std::vector<Value*> operands, AttributeList attributes) {
  op.code = code;
  op.operands = std::move(operands);
  op.attributes = std::move(attributes);
  op.regions.clear();
}

void BecomeConstant(Op& op, Literal value) {
  Become(op, OpCode::kConstant, {}, {{"value", {std::move(value)}}});
}

Op* AppendOp(Block& block, std::shared_ptr<const Location> location, OpCode code,
             std::vector<Value*> operands, std::vector<Type> results, AttributeList attributes) {
  auto op = std::make_unique<Op>();
  op->code = code;
  op->operands = std::move(operands);
  op->attributes = std::move(attributes);
  op->location = std::move(location);
  for (size_t i = 0; i < results.size(); ++i)
    op->results.push_back(
        std::make_unique<Value>(Value{std::move(results[i]), op.get(), nullptr, i}));
  block.ops.push_back(std::move(op));
  return block.ops.back().get();
}

Literal Splat(Type type, const std::byte* element, size_t width) {
  Literal literal;
  literal.splat = type.num_elements() > 0;
  literal.data = std::make_shared<const std::vector<std::byte>>(
      element, element + (literal.splat ? width : 0));
  literal.type = std::move(type);
  return literal;
}

Literal IntSplat(Type type, int64_t value) {
  std::byte bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));  // little-endian: the low bytes come first
  const size_t width = backend::DTypeBytes(type.dtype);
  return Splat(std::move(type), bytes, width);
}

}  // namespace PJRT_PLUGIN_NS::program
