#include "program/text_assembly.h"

#include <utility>

#include "program/op_table.h"
#include "program/text_attributes.h"
#include "program/text_sdy.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

std::string SymbolName(TextCursor& in) {
  in.Expect("@");
  return in.Peek() == '"' ? in.Quoted() : in.Name();
}

// (%0, %1)
void ReadParenthesized(TextOps& ops, TextOp& op) {
  ops.in().Expect("(");
  ops.ReadOperands(op);
  ops.in().Expect(")");
}

// {a = 1} dense<0> : tensor<4xi32>; long ago () {value = dense<0> : tensor<4xi32>} : () -> ...
void ReadConstant(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  if (in.Peek() == '(') {
    ReadParenthesized(ops, op);
    ops.ReadAttributes(op);
    return ops.ReadFunctionType(op);
  }
  ops.ReadAttributes(op);
  Attribute value = ParseAttribute(in);
  const auto* literal = value.As<Literal>();
  if (literal == nullptr) return in.Fail("a constant tensor is missing");
  op.results.push_back(literal->type);
  op.inherent.push_back({"value", std::move(value)});
}

// LT, %0, %1, TOTALORDER : ...
void ReadCompare(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  op.inherent.push_back({"comparison_direction", {in.Word()}});
  in.Expect(",");
  ops.ReadOperand(op);
  in.Expect(",");
  ops.ReadOperand(op);
  if (in.Accept(",")) op.inherent.push_back({"compare_type", {in.Word()}});
  ReadEnd(ops, op);
}

// %0 [0:4, 1:6:2] : ...
void ReadSlice(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  Ints starts, limits, strides;
  ops.ReadOperand(op);
  in.Expect("[");
  while (in.ok() && in.Peek() != ']') {
    starts.push_back(in.Integer());
    in.Expect(":");
    limits.push_back(in.Integer());
    strides.push_back(in.Accept(":") ? in.Integer() : 1);
    if (!in.Accept(",")) break;
  }
  in.Expect("]");
  op.inherent.push_back({"start_indices", {std::move(starts)}});
  op.inherent.push_back({"limit_indices", {std::move(limits)}});
  op.inherent.push_back({"strides", {std::move(strides)}});
  ReadEnd(ops, op);
}

// [true, false] or [1, 0]
Ints ParseFlags(TextCursor& in) {
  Ints flags;
  in.Expect("[");
  while (in.ok() && in.Peek() != ']') {
    const bool is_true = in.Accept("true");
    flags.push_back(is_true || (!in.Accept("false") && in.Integer() != 0));
    if (!in.Accept(",")) break;
  }
  in.Expect("]");
  return flags;
}

// [[0, 1], [2, 2]], row by row
Ints ParsePairs(TextCursor& in) {
  Ints pairs;
  in.Expect("[");
  while (in.ok() && in.Peek() == '[') {
    const Ints pair = ParseInts(in);
    if (pair.size() != 2) in.Fail("padding has two numbers a dimension");
    pairs.insert(pairs.end(), pair.begin(), pair.end());
    if (!in.Accept(",")) break;
  }
  in.Expect("]");
  return pairs;
}

// {stride = [2, 1], pad = [[0, 1], [2, 2]], rhs_dilate = [1, 2], reverse = [false, false]}
void ReadWindow(TextCursor& in, TextOp& op) {
  in.Expect("{");
  while (in.ok() && in.Peek() != '}') {
    const std::string key = in.Word();
    in.Expect("=");
    if (key == "pad") {
      op.inherent.push_back({"padding", {ParsePairs(in)}});
    } else if (key == "reverse") {
      op.inherent.push_back({"window_reversal", {ParseFlags(in)}});
    } else if (key == "stride" || key == "lhs_dilate" || key == "rhs_dilate") {
      op.inherent.push_back(
          {key == "stride" ? "window_strides" : key.substr(0, 3) + "_dilation", {ParseInts(in)}});
    } else {
      in.Fail("of a window " + key +
              " is unknown; it has stride, pad, lhs_dilate, rhs_dilate and "
              "reverse");
    }
    if (!in.Accept(",")) break;
  }
  in.Expect("}");
}

// (%0, %1) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {...} {...} : ...
void ReadConvolution(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  ReadParenthesized(ops, op);
  in.Expect("dim_numbers");
  in.Expect("=");
  op.inherent.push_back({"dimension_numbers", {ParseConvDimensions(in)}});
  if (in.Accept(",")) {
    in.Expect("window");
    in.Expect("=");
    ReadWindow(in, op);
  }
  ReadEnd(ops, op);
}

// @name(%0, %1) {...} : ...
void ReadSymbolCall(TextOps& ops, TextOp& op, const char* attribute) {
  op.inherent.push_back({attribute, {SymbolName(ops.in())}});
  ReadParenthesized(ops, op);
  ReadEnd(ops, op);
}

// "name" %0, %1 {...} : ...
void ReadComposite(TextOps& ops, TextOp& op) {
  op.inherent.push_back({"name", {ops.in().Quoted()}});
  ops.ReadOperands(op);
  ReadEnd(ops, op);
}

// %0[1] : ...
void ReadTupleElement(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  ops.ReadOperand(op);
  in.Expect("[");
  op.inherent.push_back({"index", {in.Integer()}});
  in.Expect("]");
  ReadEnd(ops, op);
}

// %0 <@mesh, [{"x"}, {}]> {...} : ...
void ReadShardingConstraint(TextOps& ops, TextOp& op) {
  ops.ReadOperand(op);
  op.inherent.push_back({"sharding", {ParseSharding(ops.in())}});
  ReadEnd(ops, op);
}

// %0 group_id=3 : type; it has no result
void ReadShardingGroup(TextOps& ops, TextOp& op) {
  ops.ReadOperand(op);
  ops.in().Expect("group_id");
  ops.in().Expect("=");
  op.inherent.push_back({"group_id", {ops.in().Integer()}});
  ReadEnd(ops, op);
}

// %0, %1 : types; without operands nothing, () or () : ()
void ReadOperandList(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  const bool has_brackets = in.Accept("(");
  ops.ReadOperands(op);
  if (has_brackets) in.Expect(")");
  ops.ReadAttributes(op);
  if (!op.op.operands.empty() || in.Peek() == ':') ReadTypes(ops, op);
}

}  // namespace

void ReadAssembly(TextOps& ops, TextOp& op) {
  switch (op.op.code) {
    case OpCode::kConstant:
      return ReadConstant(ops, op);
    case OpCode::kCompare:
      return ReadCompare(ops, op);
    case OpCode::kSlice:
      return ReadSlice(ops, op);
    case OpCode::kConvolution:
    case OpCode::kDynamicConv:
      return ReadConvolution(ops, op);
    case OpCode::kCustomCall:
      return ReadSymbolCall(ops, op, "call_target_name");
    case OpCode::kCall:
      return ReadSymbolCall(ops, op, "callee");
    case OpCode::kComposite:
      return ReadComposite(ops, op);
    case OpCode::kGetTupleElement:
      return ReadTupleElement(ops, op);
    case OpCode::kReturn:
    case OpCode::kOptimizationBarrier:
      return ReadOperandList(ops, op);
    case OpCode::kReduce:
      return ReadReduce(ops, op);
    case OpCode::kWhile:
      return ReadWhile(ops, op);
    case OpCode::kSdyManualComputation:
      return ReadManualComputation(ops, op);
    case OpCode::kSdyShardingConstraint:
      return ReadShardingConstraint(ops, op);
    case OpCode::kSdyShardingGroup:
      return ReadShardingGroup(ops, op);
    default:
      break;
  }
  if (!InfoOf(op.op.code).regions.empty())
    return ops.in().Fail(op.name + " has no form but the generic one: write \"" + op.name + "\"");
  ReadClauses(ops, op);
  ReadEnd(ops, op);
}

}  // namespace PJRT_PLUGIN_NS::program
