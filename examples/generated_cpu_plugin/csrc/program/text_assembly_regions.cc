#include <string>
#include <utility>

#include "program/op_table.h"
#include "program/text_assembly.h"
#include "program/text_attributes.h"
#include "program/text_sdy.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// A region that is not written: the op that "applies" to both of its arguments.
void AddAppliedRegion(TextOps& ops, TextOp& op, const std::string& name) {
  TextCursor& in = ops.in();
  const OpInfo* info = name.starts_with("stablehlo.") ? FindOp(name.substr(10)) : nullptr;
  if (info == nullptr || info->operands.size() != 2 || !info->attributes.empty() ||
      !info->regions.empty())
    return in.Fail(name + " is no op that a reduce can apply to two values");
  if (op.op.operands.size() != 2) in.Fail("a reduce of several inputs that applies an op");
  if (!in.ok()) return;
  const Type type = Type::Tensor(op.op.operand_type(0).dtype, {});
  Block& block = ops.AddRegion(op);
  for (size_t i = 0; i < 2; ++i)
    block.arguments.push_back(std::make_unique<Value>(Value{type, nullptr, &block, i}));
  Op& applied = *block.ops.emplace_back(std::make_unique<Op>());
  applied.code = info->code;
  applied.operands = {block.arguments[0].get(), block.arguments[1].get()};
  applied.results.push_back(std::make_unique<Value>(Value{type, &applied, nullptr, 0}));
  Op& result = *block.ops.emplace_back(std::make_unique<Op>());
  result.code = OpCode::kReturn;
  result.operands = {applied.result()};
}

// reducer(%0: tensor<f32>, %2: tensor<f32>) (%1: ...) {...}: the arguments of each input together,
// where the region has all results so far, then all elements.
void ReadReducer(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  TextOps::Arguments so_far;
  TextOps::Arguments elements;
  in.Expect("reducer");
  while (in.ok() && in.Peek() == '(') {
    TextOps::Arguments pair = ops.ReadArguments();
    if (pair.size() != 2) return in.Fail("a reducer has two arguments for each input");
    so_far.push_back(std::move(pair[0]));
    elements.push_back(std::move(pair[1]));
  }
  for (auto& one : elements) so_far.push_back(std::move(one));
  ops.ReadRegion(ops.AddRegion(op), std::move(so_far));
}

// %0 = %1, %2 = %3: names of arguments, and the operands that they start as.
std::vector<std::string> ReadAssignments(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  std::vector<std::string> names;
  in.Expect("(");
  while (in.Accept("%")) {
    names.push_back(in.Name());
    in.Expect("=");
    ops.ReadOperand(op);
    if (!in.Accept(",")) break;
  }
  in.Expect(")");
  return names;
}

}  // namespace

// (%0 init: %1), (%2 init: %3) across dimensions = [1] : ... reducer(...) {...}, or
// (%0 init: %1) applies stablehlo.add across dimensions = [1] : ...
void ReadReduce(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  std::vector<Value*> initial;
  do {
    in.Expect("(");
    ops.ReadOperand(op);
    in.Expect("init");
    in.Expect(":");
    ops.ReadOperand(op);
    initial.push_back(op.op.operands.back());
    op.op.operands.pop_back();
    in.Expect(")");
  } while (in.ok() && in.Accept(","));
  op.op.operands.insert(op.op.operands.end(), initial.begin(), initial.end());
  std::string applied;
  if (in.Accept("applies")) applied = in.Word();
  in.Expect("across");
  in.Expect("dimensions");
  in.Expect("=");
  op.inherent.push_back({"dimensions", {ParseInts(in)}});
  ops.ReadAttributes(op);
  ops.ReadFunctionType(op);
  if (!in.ok()) return;
  if (applied.empty()) {
    ReadReducer(ops, op);
  } else {
    AddAppliedRegion(ops, op, applied);
  }
}

// (%0 = %1) : types attributes {...} cond {...} do {...}
void ReadWhile(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  const std::vector<std::string> names = ReadAssignments(ops, op);
  if (!names.empty()) ReadTypes(ops, op);
  if (in.Accept("attributes")) ops.ReadAttributes(op);
  for (const char* word : {"cond", "do"}) {
    in.Expect(word);
    TextOps::Arguments arguments;
    for (size_t i = 0; i < names.size() && in.ok(); ++i)
      arguments.emplace_back(names[i], op.op.operand_type(i));
    ops.ReadRegion(ops.AddRegion(op), std::move(arguments));
  }
}

// (%0) in_shardings=[...] out_shardings=[...] manual_axes={"x"} (%1: type) {...} : ...
void ReadManualComputation(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  in.Expect("(");
  ops.ReadOperands(op);
  in.Expect(")");
  for (const char* name : {"in_shardings", "out_shardings"}) {
    in.Expect(name);
    in.Expect("=");
    op.inherent.push_back({name, {ParseShardings(in)}});
  }
  in.Expect("manual_axes");
  in.Expect("=");
  op.inherent.push_back({"manual_axes", {ParseManualAxes(in)}});
  TextOps::Arguments arguments = ops.ReadArguments();
  ops.ReadRegion(ops.AddRegion(op), std::move(arguments));
  ReadEnd(ops, op);
}

}  // namespace PJRT_PLUGIN_NS::program
