#include "program/text_ops.h"

#include "program/bytecode_normalize.h"
#include "program/op_table.h"
#include "program/text_assembly.h"
#include "program/text_attributes.h"
#include "program/text_op_attributes.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

const OpInfo* InfoByTextName(std::string_view name) {
  if (name == "func.return" || name == "return" || name == "sdy.return") return FindOp("return");
  if (name == "func.call" || name == "call") return FindOp("call");
  if (name.starts_with("stablehlo.")) return FindOp(name.substr(10));
  return name.starts_with("sdy.") ? FindOp(name) : nullptr;
}

}  // namespace

void TextOps::ReadRegion(Block& block) {
  TextValues::Scope scope(values_);
  in_.Expect("{");
  if (in_.Accept("^")) {
    in_.Name();
    if (in_.Peek() == '(') Define(block, ReadArguments());
    in_.Expect(":");
  }
  ReadBody(block);
}

void TextOps::ReadRegion(Block& block, Arguments arguments) {
  TextValues::Scope scope(values_);
  in_.Expect("{");
  Define(block, std::move(arguments));
  ReadBody(block);
}

void TextOps::ReadBody(Block& block) {
  if (++depth_ > kMaxRegionDepth) in_.Fail("over 200 regions in one another");
  while (in_.ok() && !in_.Accept("}")) {
    if (in_.Peek() == '^') in_.Fail("a region of several blocks; each has one in StableHLO");
    ReadOp(block);
  }
  --depth_;
}

void TextOps::Define(Block& block, Arguments arguments) {
  for (auto& [name, type] : arguments) {
    block.arguments.push_back(
        std::make_unique<Value>(Value{std::move(type), nullptr, &block, block.arguments.size()}));
    values_.Define(std::move(name), block.arguments.back().get(), in_);
  }
}

std::pair<std::string, Type> TextOps::ReadArgument() {
  in_.Expect("%");
  std::string name = in_.Name();
  in_.Expect(":");
  Type type = ParseType(in_);
  locations_.Read(in_);
  return {std::move(name), std::move(type)};
}

TextOps::Arguments TextOps::ReadArguments() {
  Arguments arguments;
  in_.Expect("(");
  while (in_.Peek() == '%') {
    arguments.push_back(ReadArgument());
    if (!in_.Accept(",")) break;
  }
  in_.Expect(")");
  return arguments;
}

void TextOps::ReadFunctionType(TextOp& op) {
  in_.Expect(":");
  const Type type = ParseType(in_);
  if (in_.ok() && type.kind != TypeKind::kFunction) in_.Fail("the type (...) -> ... is missing");
  if (!in_.ok()) return;
  const auto results = type.elements.begin() + std::ptrdiff_t(type.num_inputs);
  op.results.assign(results, type.elements.end());
  CheckOperands(op, {type.elements.begin(), results});
}

void TextOps::CheckOperands(const TextOp& op, const std::vector<Type>& types) {
  TextCursor at = op.start;
  if (!at.ok()) return;
  if (types.size() != op.op.operands.size())
    return at.Fail(op.name + " has " + std::to_string(op.op.operands.size()) + " operands and " +
                   std::to_string(types.size()) + " types of operands");
  for (size_t i = 0; i < types.size() && at.ok(); ++i)
    if (op.op.operand_type(i) != types[i])
      at.Fail("operand " + std::to_string(i) + " of " + op.name + " is a " +
              ToString(op.op.operand_type(i)) + ", not a " + ToString(types[i]));
}

void TextOps::ReadAttributes(TextOp& op) {
  if (in_.Peek() != '{') return;
  for (NamedAttribute& one : ParseDictionary(in_)) op.attributes.push_back(std::move(one));
}

Block& TextOps::AddRegion(TextOp& op) {
  return *op.op.regions.emplace_back(std::make_unique<Block>());
}

void TextOps::ReadOp(Block& block) {
  std::vector<std::pair<std::string, size_t>> names;  // of results, and how many each stands for
  while (in_.Accept("%")) {
    std::string name = in_.Name();
    const int64_t count = in_.Accept(":") ? in_.Integer() : 1;
    if (count < 1 || count > 1 << 20) in_.Fail("a number of results is out of range");
    names.emplace_back(std::move(name), size_t(count));
    if (!in_.Accept(",")) in_.Expect("=");
  }
  const bool is_generic = in_.Peek() == '"';
  TextCursor start = in_;
  std::string name = is_generic ? in_.Quoted() : in_.Word();
  if (name == "builtin.unrealized_conversion_cast") return ReadCast(is_generic, names);
  const OpInfo* info = InfoByTextName(name);
  if (info == nullptr)
    start.Unsupported("op " + name + " is unknown here; known are the ops of StableHLO, " +
                      "and Shardy's manual_computation and sharding_constraint");
  if (!in_.ok()) return;
  Op& op = *block.ops.emplace_back(std::make_unique<Op>());
  op.code = info->code;
  TextOp text{op, start, std::move(name), {}, {}, {}};
  if (is_generic) {
    ReadGeneric(text);
  } else {
    ReadAssembly(*this, text);
  }
  SetLocation(op);
  if (!in_.ok()) return;
  DefineResults(text, names);
  SetTextAttributes(text, budget_);
  if (in_.ok()) NormalizeOp(op);
}

void TextOps::ReadGeneric(TextOp& op) {
  in_.Expect("(");
  ReadOperands(op);
  in_.Expect(")");
  if (in_.Peek() == '[') in_.Fail("an op with successors; StableHLO has no branches");
  if (in_.Accept("<")) {
    op.inherent = ParseDictionary(in_);
    in_.Expect(">");
  }
  if (in_.Accept("(")) {
    do ReadRegion(AddRegion(op));
    while (in_.ok() && in_.Accept(","));
    in_.Expect(")");
  }
  ReadAttributes(op);
  ReadFunctionType(op);
}

// Casts join the types of two dialects, which are one here: the results are the operands.
void TextOps::ReadCast(bool generic, const std::vector<std::pair<std::string, size_t>>& names) {
  Op op{};
  TextOp text{op, in_, "builtin.unrealized_conversion_cast", {}, {}, {}};
  if (generic) {
    ReadGeneric(text);
  } else {
    ReadOperands(text);
    in_.Expect(":");
    std::vector<Type> types;
    do types.push_back(ParseType(in_));
    while (in_.ok() && in_.Accept(","));
    CheckOperands(text, types);
    in_.Expect("to");
    do text.results.push_back(ParseType(in_));
    while (in_.ok() && in_.Accept(","));
  }
  locations_.Read(in_);
  if (in_.ok() && text.results.size() != op.operands.size())
    in_.Fail("a cast of other than one value to one value");
  CheckOperands(text, text.results);
  size_t next = 0;
  for (const auto& [name, count] : names)
    for (size_t i = 0; i < count && in_.ok(); ++i, ++next) {
      if (next >= op.operands.size()) return in_.Fail("a cast with more names than results");
      values_.Define(i == 0 ? name : name + "#" + std::to_string(i), op.operands[next], in_);
    }
}

void TextOps::DefineResults(TextOp& op, const std::vector<std::pair<std::string, size_t>>& names) {
  size_t named = 0;
  for (const auto& [name, count] : names) named += count;
  if (named != 0 && named != op.results.size())
    return op.start.Fail(op.name + " has " + std::to_string(op.results.size()) + " results and " +
                         std::to_string(named) + " names of results");
  for (size_t i = 0; i < op.results.size(); ++i)
    op.op.results.push_back(
        std::make_unique<Value>(Value{std::move(op.results[i]), &op.op, nullptr, i}));
  size_t next = 0;
  for (const auto& [name, count] : names)
    for (size_t i = 0; i < count; ++i)
      values_.Define(i == 0 ? name : name + "#" + std::to_string(i), op.op.result(next++), in_);
}

// Also for ops that stand in this one without text of their own.
void TextOps::SetLocation(Op& op) {
  op.location = locations_.Read(in_);
  for (const auto& region : op.regions)
    for (const auto& inner : region->ops)
      if (inner->location == nullptr) inner->location = op.location;
}

}  // namespace PJRT_PLUGIN_NS::program
