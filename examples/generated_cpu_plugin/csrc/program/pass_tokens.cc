#include "program/pass_tokens.h"

#include <memory>
#include <utility>
#include <vector>

#include "program/rewrite.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

Type EmptyArray() { return Type::Tensor(DType::kPred, {0}); }

std::unique_ptr<Op> NewOp(OpCode code, Type type, AttributeList attributes) {
  auto op = std::make_unique<Op>();
  op->code = code;
  op->attributes = std::move(attributes);
  op->location = std::make_shared<const Location>();
  op->results.push_back(std::make_unique<Value>(Value{std::move(type), op.get(), nullptr, 0}));
  return op;
}

void UpdateUses(Block& block, const Replacements& replacements) {
  for (const auto& op : block.ops) {
    replacements.UpdateOperands(*op);
    for (const auto& region : op->regions) UpdateUses(*region, replacements);
  }
}

}  // namespace

void TokenPass(Module& module) {
  Function* const main = module.main();
  if (main == nullptr) return;
  const auto is_token = [](const Type& type) { return type.kind == TypeKind::kToken; };
  std::vector<std::unique_ptr<Op>> first;
  Replacements replacements;
  for (const auto& argument : main->body.arguments) {
    if (!is_token(argument->type)) continue;
    first.push_back(NewOp(OpCode::kCreateToken, Type::Token(), {}));
    replacements.Replace(argument.get(), first.back()->result());
    argument->type = EmptyArray();
  }
  if (!first.empty()) UpdateUses(main->body, replacements);
  for (Value*& result : main->body.terminator()->operands) {
    if (!is_token(result->type)) continue;
    first.push_back(
        NewOp(OpCode::kConstant, EmptyArray(), {{"value", {IntSplat(EmptyArray(), 0)}}}));
    result = first.back()->result();
  }
  for (Type& type : main->type.elements)
    if (is_token(type)) type = EmptyArray();
  main->body.ops.insert(main->body.ops.begin(), std::make_move_iterator(first.begin()),
                        std::make_move_iterator(first.end()));
}

}  // namespace PJRT_PLUGIN_NS::program
