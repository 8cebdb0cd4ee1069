#include <utility>

#include "program/op_table.h"
#include "program/text_assembly.h"
#include "program/text_attributes.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

enum class ClauseForm {
  kInt,         // 1
  kInts,        // [1, 2]
  kTwoInts,     // [1] x [0]
  kWord,        // RFFT; true
  kWords,       // [DEFAULT, HIGH]
  kQuoted,      // "ab,bc->ac"
  kParameters,  // <a = 1, b = 2>
  kFormat,      // e5m10
};

// What an op writes after its operands as "key = value", and what its attribute is called.
struct ClauseInfo {
  OpCode code;
  std::string_view key;
  ClauseForm form;
  std::string_view attribute;
  std::string_view second = {};  // of the second value
};

constexpr ClauseInfo kClauses[] = {
    {OpCode::kBroadcast, "sizes", ClauseForm::kInts, "broadcast_sizes"},
    {OpCode::kBroadcastInDim, "dims", ClauseForm::kInts, "broadcast_dimensions"},
    {OpCode::kCholesky, "lower", ClauseForm::kWord, "lower"},
    {OpCode::kConcatenate, "dim", ClauseForm::kInt, "dimension"},
    {OpCode::kDot, "precision", ClauseForm::kWords, "precision_config"},
    {OpCode::kDotGeneral, "algorithm", ClauseForm::kParameters, "algorithm"},
    {OpCode::kDotGeneral, "batching_dims", ClauseForm::kTwoInts, "lhs_batching_dimensions",
     "rhs_batching_dimensions"},
    {OpCode::kDotGeneral, "contracting_dims", ClauseForm::kTwoInts, "lhs_contracting_dimensions",
     "rhs_contracting_dimensions"},
    {OpCode::kDotGeneral, "precision", ClauseForm::kWords, "precision_config"},
    {OpCode::kDynamicBroadcastInDim, "dims", ClauseForm::kInts, "broadcast_dimensions"},
    {OpCode::kDynamicIota, "dim", ClauseForm::kInt, "iota_dimension"},
    {OpCode::kDynamicSlice, "sizes", ClauseForm::kInts, "slice_sizes"},
    {OpCode::kEinsum, "config", ClauseForm::kQuoted, "einsum_config"},
    {OpCode::kFft, "length", ClauseForm::kInts, "fft_length"},
    {OpCode::kFft, "type", ClauseForm::kWord, "fft_type"},
    {OpCode::kGetDimensionSize, "dim", ClauseForm::kInt, "dimension"},
    {OpCode::kIota, "dim", ClauseForm::kInt, "iota_dimension"},
    {OpCode::kPad, "high", ClauseForm::kInts, "edge_padding_high"},
    {OpCode::kPad, "interior", ClauseForm::kInts, "interior_padding"},
    {OpCode::kPad, "low", ClauseForm::kInts, "edge_padding_low"},
    {OpCode::kReducePrecision, "format", ClauseForm::kFormat, "exponent_bits", "mantissa_bits"},
    {OpCode::kReverse, "dims", ClauseForm::kInts, "dimensions"},
    {OpCode::kRng, "distribution", ClauseForm::kWord, "rng_distribution"},
    {OpCode::kRngBitGenerator, "algorithm", ClauseForm::kWord, "rng_algorithm"},
    {OpCode::kSetDimensionSize, "dim", ClauseForm::kInt, "dimension"},
    {OpCode::kTranspose, "dims", ClauseForm::kInts, "permutation"},
    {OpCode::kUnaryEinsum, "config", ClauseForm::kQuoted, "einsum_config"},
};

std::string KeysOf(OpCode code) {
  std::string keys;
  for (const ClauseInfo& one : kClauses)
    if (one.code == code) keys += (keys.empty() ? "" : ", ") + std::string(one.key);
  return keys.empty() ? "none" : keys;
}

Attribute ParseWords(TextCursor& in) {
  std::vector<Attribute> words;
  in.Expect("[");
  while (in.ok() && in.Peek() != ']') {
    words.push_back({in.Word()});
    if (!in.Accept(",")) break;
  }
  in.Expect("]");
  return {std::move(words)};
}

// e5m10: bits of the exponent and of the mantissa.
std::pair<Attribute, Attribute> ParseFormat(TextCursor& in) {
  const std::string text = in.Word();
  const size_t m = text.find('m');
  const auto number = [&](std::string_view digits) {
    int64_t value = 0;
    for (char c : digits) value = IsDigit(c) && value < 1000 ? value * 10 + (c - '0') : -1000;
    if (digits.empty() || value < 0) in.Fail("a format such as e5m10 is missing");
    return value;
  };
  if (text[0] != 'e' || m == text.npos) in.Fail("a format such as e5m10 is missing");
  if (!in.ok()) return {};
  return {{number(std::string_view(text).substr(1, m - 1))},
          {number(std::string_view(text).substr(m + 1))}};
}

std::pair<Attribute, Attribute> ParseClause(ClauseForm form, TextCursor& in) {
  switch (form) {
    case ClauseForm::kInt:
      return {{in.Integer()}, {}};
    case ClauseForm::kInts:
      return {{ParseInts(in)}, {}};
    case ClauseForm::kTwoInts: {
      Ints first = ParseInts(in);
      in.Expect("x");
      return {{std::move(first)}, {ParseInts(in)}};
    }
    case ClauseForm::kWord: {
      std::string word = in.Word();
      if (word == "true" || word == "false") return {{word == "true"}, {}};
      return {{std::move(word)}, {}};
    }
    case ClauseForm::kWords:
      return {ParseWords(in), {}};
    case ClauseForm::kQuoted:
      return {{in.Quoted()}, {}};
    case ClauseForm::kParameters:
      return {{ParseParameters(in)}, {}};
    case ClauseForm::kFormat:
      return ParseFormat(in);
  }
  return {};
}

void ReadClause(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  const std::string key = in.Word();
  if (!in.ok()) return;
  for (const ClauseInfo& one : kClauses) {
    if (one.code != op.op.code || one.key != key) continue;
    in.Expect("=");
    auto [first, second] = ParseClause(one.form, in);
    op.inherent.push_back({std::string(one.attribute), std::move(first)});
    if (!one.second.empty()) op.inherent.push_back({std::string(one.second), std::move(second)});
    return;
  }
  in.Fail(key + " is nothing that " + op.name + " has; known: " + KeysOf(op.op.code));
}

// Real and imaginary part are of this type.
Type PartType(Type type) {
  type.dtype = type.dtype == DType::kC64 ? DType::kF32 : DType::kF64;
  return type;
}

}  // namespace

void ReadClauses(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  if (in.Peek() == ':' || in.Peek() == '{') return;
  do {
    if (in.Peek() == '%') {
      ops.ReadOperand(op);
    } else {
      ReadClause(ops, op);
    }
  } while (in.ok() && in.Accept(","));
}

void ReadEnd(TextOps& ops, TextOp& op) {
  ops.ReadAttributes(op);
  ReadTypes(ops, op);
}

void ReadTypes(TextOps& ops, TextOp& op) {
  TextCursor& in = ops.in();
  TextCursor ahead = in;
  ahead.Expect(":");
  if (ahead.Peek() == '(' && op.op.code != OpCode::kReturn) return ops.ReadFunctionType(op);
  in.Expect(":");
  std::vector<Type> types;
  if (in.Accept("(")) {
    in.Expect(")");
  } else {
    do types.push_back(ParseType(in));
    while (in.ok() && in.Accept(","));
  }
  if (!in.ok()) return;
  const size_t num_operands = op.op.operands.size();
  switch (op.op.code) {
    case OpCode::kReturn:
    case OpCode::kSdyShardingGroup:
      return ops.CheckOperands(op, types);
    case OpCode::kOptimizationBarrier:
    case OpCode::kWhile:
      ops.CheckOperands(op, types);
      op.results = std::move(types);
      return;
    case OpCode::kSelect:
      if (types.size() != 2)
        return in.Fail("the types of a select's predicate and values are missing");
      op.results = {types[1]};
      types.push_back(types[1]);
      return ops.CheckOperands(op, types);
    default:
      break;
  }
  if (types.size() != 1) return in.Fail("one type, or (...) -> ..., is missing");
  op.results = types;
  switch (op.op.code) {
    case OpCode::kComplex:
      return ops.CheckOperands(op, {2, PartType(types[0])});
    case OpCode::kTuple:
      return ops.CheckOperands(op, types[0].elements);
    default:
      return ops.CheckOperands(op, std::vector<Type>(num_operands, types[0]));
  }
}

}  // namespace PJRT_PLUGIN_NS::program
