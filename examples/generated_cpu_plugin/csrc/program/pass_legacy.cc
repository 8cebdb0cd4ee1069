#include "program/pass_legacy.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "program/expand_approx_top_k.h"
#include "program/expand_batch_norm.h"
#include "program/op_table.h"
#include "program/rewrite.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// What mhlo.topk is asked for; k < 0: the op is none, or none that can be made here.
struct TopK {
  int64_t k = -1;
  bool largest = true;
};

// Whether the types are those of the first `k` of a tensor of real numbers and of their positions.
bool GivesTopK(const Op& op, int64_t k) {
  if (op.operands.size() != 1 || op.results.size() != 2) return false;
  const Type& in = op.operand_type(0);
  if (!in.is_tensor() || !in.is_static() || in.rank() == 0 || backend::IsComplex(in.dtype) ||
      k < 0 || k > in.dims.back())
    return false;
  Ints first = in.dims;
  first.back() = k;
  const Type& positions = op.type(1);
  return op.type(0) == Type::Tensor(in.dtype, first) &&
         positions == Type::Tensor(positions.dtype, first) && backend::IsInt(positions.dtype);
}

TopK ReadTopK(const Op& op) {
  TopK asked;
  if (op.code != OpCode::kCustomCall || op.String("call_target_name") != "mhlo.topk") return asked;
  for (const NamedAttribute& one : op.discardable) {
    const auto* members = one.value.As<AttributeList>();
    if (one.name != "mhlo.attributes" || members == nullptr) continue;
    for (const NamedAttribute& member : *members) {
      if (const auto* k = member.value.As<int64_t>(); k != nullptr && member.name == "k")
        asked.k = *k;
      if (const auto* largest = member.value.As<bool>(); largest && member.name == "largest")
        asked.largest = *largest;
    }
  }
  if (!GivesTopK(op, asked.k)) asked.k = -1;
  return asked;
}

class Expander {
 public:
  Expander(Block& block, std::shared_ptr<const Location> location)
      : block_(block), location_(std::move(location)) {}

  Op* Add(OpCode code, std::vector<Value*> operands, std::vector<Type> results,
          AttributeList attributes) {
    return AppendOp(block_, location_, code, std::move(operands), std::move(results),
                    std::move(attributes));
  }

  // The comparator of a sort of values and positions: by value alone.
  void AddComparator(Op& sort, bool largest) {
    auto body = std::make_unique<Block>();
    for (size_t i = 0; i < 2 * sort.operands.size(); ++i) {
      Type scalar = sort.operand_type(i / 2);
      scalar.dims.clear();
      body->arguments.push_back(
          std::make_unique<Value>(Value{std::move(scalar), nullptr, body.get(), i}));
    }
    const DType dtype = sort.operand_type(0).dtype;
    const ComparisonType type = backend::IsFloat(dtype)       ? ComparisonType::kTotalOrder
                                : backend::IsSignedInt(dtype) ? ComparisonType::kSigned
                                                              : ComparisonType::kUnsigned;
    const auto direction = largest ? ComparisonDirection::kGt : ComparisonDirection::kLt;
    Op* before = AppendOp(
        *body, location_, OpCode::kCompare, {body->arguments[0].get(), body->arguments[1].get()},
        {Type::Tensor(DType::kPred, {})},
        {{"compare_type", {int64_t(type)}}, {"comparison_direction", {int64_t(direction)}}});
    AppendOp(*body, location_, OpCode::kReturn, {before->result()}, {}, {});
    sort.regions.push_back(std::move(body));
  }

 private:
  Block& block_;
  std::shared_ptr<const Location> location_;
};

// Appends to `block` what gives the results of `op`.
void ExpandTopK(const Op& op, const TopK& asked, Block& block, Replacements& replacements) {
  const Type& values = op.operand_type(0);
  const Type positions = Type::Tensor(op.type(1).dtype, values.dims);
  const int64_t last = values.rank() - 1;
  Expander expander(block, op.location);
  Op* iota = expander.Add(OpCode::kIota, {}, {positions}, {{"iota_dimension", {last}}});
  Op* sort = expander.Add(OpCode::kSort, {op.operands[0], iota->result()}, {values, positions},
                          {{"dimension", {last}}, {"is_stable", {true}}});
  expander.AddComparator(*sort, asked.largest);
  Ints limits = values.dims;
  limits.back() = asked.k;
  for (size_t i = 0; i < 2; ++i) {
    Op* first = expander.Add(OpCode::kSlice, {sort->result(i)}, {op.type(i)},
                             {{"limit_indices", {limits}},
                              {"start_indices", {Ints(limits.size(), 0)}},
                              {"strides", {Ints(limits.size(), 1)}}});
    replacements.Replace(op.result(i), first->result());
  }
}

void ExpandIn(const Module& module, Block& block, Replacements& replacements) {
  std::vector<std::unique_ptr<Op>> ops = std::exchange(block.ops, {});
  block.ops.reserve(ops.size());
  for (auto& op : ops) {
    replacements.UpdateOperands(*op);
    for (const auto& region : op->regions) ExpandIn(module, *region, replacements);
    if (const TopK asked = ReadTopK(*op); asked.k >= 0) {
      ExpandTopK(*op, asked, block, replacements);
      replacements.Drop(std::move(op));
    } else if (ExpandBatchNorm(*op, block, replacements) ||
               ExpandApproxTopK(module, *op, block, replacements)) {
      replacements.Drop(std::move(op));
    } else {
      block.ops.push_back(std::move(op));
    }
  }
}

}  // namespace

void LegacyPass(Module& module) {
  Replacements replacements;
  for (const auto& function : module.functions) ExpandIn(module, function->body, replacements);
}

}  // namespace PJRT_PLUGIN_NS::program
