#include "program/expand_approx_top_k.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace PJRT_PLUGIN_NS::program {
namespace {

std::optional<int64_t> ReductionDim(const Op& op) {
  for (const NamedAttribute& one : op.discardable) {
    const auto* members = one.value.As<AttributeList>();
    if (one.name != "mhlo.backend_config" || members == nullptr) continue;
    for (const NamedAttribute& member : *members)
      if (const auto* dim = member.value.As<int64_t>(); dim && member.name == "reduction_dim")
        return *dim;
  }
  return std::nullopt;
}

// What orders the elements: a function of two of each operand.
const Function* Comparator(const Module& module, const Op& op) {
  const auto* called = op.Find("called_computations")->As<std::vector<Attribute>>();
  if (called == nullptr || called->size() != 1) return nullptr;
  const auto* name = called->front().As<std::string>();
  if (name == nullptr) return nullptr;
  for (const auto& function : module.functions)
    if (function->name == *name) return function.get();
  return nullptr;
}

// Arrays of one shape and as many scalars, to the first elements along `dim` of each array.
bool GivesFirstElements(const Op& op, int64_t dim) {
  const size_t count = op.results.size();
  if (count == 0 || op.operands.size() != 2 * count) return false;
  const Type& array = op.operand_type(0);
  if (!array.is_tensor() || !array.is_static() || dim < 0 || dim >= array.rank()) return false;
  for (size_t i = 0; i < count; ++i) {
    Type first = op.operand_type(i);
    if (!op.type(i).is_tensor() || first.dims != array.dims || op.type(i).rank() != array.rank() ||
        op.type(i).dims[size_t(dim)] > array.dims[size_t(dim)])
      return false;
    first.dims[size_t(dim)] = op.type(i).dims[size_t(dim)];
    if (op.type(i) != first) return false;
  }
  return true;
}

// Whether it takes two scalars of each of the arrays, and says which comes first.
bool Orders(const Function& comparator, const Op& op) {
  const Block& body = comparator.body;
  if (body.arguments.size() != 2 * op.results.size() || body.ops.empty()) return false;
  for (size_t i = 0; i < body.arguments.size(); ++i)
    if (body.arguments[i]->type != Type::Tensor(op.operand_type(i / 2).dtype, {})) return false;
  const std::vector<Value*>& returned = body.terminator()->operands;
  return returned.size() == 1 && returned[0]->type == Type::Tensor(DType::kPred, {});
}

std::unique_ptr<Block> CopyOf(const Block& body) {
  auto copy = std::make_unique<Block>();
  Replacements replacements;
  for (const auto& argument : body.arguments) {
    copy->arguments.push_back(
        std::make_unique<Value>(Value{argument->type, nullptr, copy.get(), argument->index}));
    replacements.Replace(argument.get(), copy->arguments.back().get());
  }
  for (const auto& op : body.ops) copy->ops.push_back(Clone(*op, replacements));
  return copy;
}

}  // namespace

bool ExpandApproxTopK(const Module& module, const Op& op, Block& block,
                      Replacements& replacements) {
  if (op.code != OpCode::kCustomCall || op.String("call_target_name") != "ApproxTopK") return false;
  const std::optional<int64_t> dim = ReductionDim(op);
  const Function* const comparator = Comparator(module, op);
  if (!dim || comparator == nullptr || !GivesFirstElements(op, *dim) || !Orders(*comparator, op))
    return false;
  const size_t count = op.results.size();
  std::vector<Value*> arrays(op.operands.begin(), op.operands.begin() + std::ptrdiff_t(count));
  std::vector<Type> types;
  for (size_t i = 0; i < count; ++i) types.push_back(op.operand_type(i));
  Op* sort = AppendOp(block, op.location, OpCode::kSort, std::move(arrays), std::move(types),
                      {{"dimension", {*dim}}, {"is_stable", {true}}});
  sort->regions.push_back(CopyOf(comparator->body));
  for (size_t i = 0; i < count; ++i) {
    const size_t rank = size_t(op.type(i).rank());
    Op* first = AppendOp(block, op.location, OpCode::kSlice, {sort->result(i)}, {op.type(i)},
                         {{"limit_indices", {Ints(op.type(i).dims)}},
                          {"start_indices", {Ints(rank, 0)}},
                          {"strides", {Ints(rank, 1)}}});
    replacements.Replace(op.result(i), first->result());
  }
  return true;
}

}  // namespace PJRT_PLUGIN_NS::program
