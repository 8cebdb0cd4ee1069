// Ops between devices, and Shardy's.

#include "program/verify_op.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// Operands and results pair up, in number and element type, and in rank.
bool CheckPairs(OpCheck& check) {
  const Op& op = check.op();
  if (!check.Require(op.operands.size() == op.results.size() && !op.operands.empty(),
                     "operands and results differ in number"))
    return false;
  for (size_t i = 0; i < op.operands.size(); ++i)
    check.Require(op.operand_type(i).dtype == op.type(i).dtype &&
                      op.operand_type(i).rank() == op.type(i).rank(),
                  "an operand and its result differ in element type or rank");
  return check.problem().empty();
}

void CheckSameTypes(OpCheck& check) {
  if (!CheckPairs(check)) return;
  for (size_t i = 0; i < check.op().operands.size(); ++i)
    check.Require(check.op().operand_type(i) == check.op().type(i),
                  "an operand and its result differ in type");
}

void CheckComputation(OpCheck& check) {
  const Op& op = check.op();
  const Type element = Type::Tensor(op.operand_type(0).dtype, {});
  check.RequireSupported(HasSignature(*op.regions[0], {element, element}, {element}),
                         "the computation does not map two scalars of the operands' element type "
                         "to one");
  for (const Value* operand : op.operands)
    check.RequireSupported(operand->type.dtype == element.dtype,
                           "the operands differ in element type");
}

bool IsDim(OpCheck& check, int64_t dim) {
  bool in_range = dim >= 0;
  for (const auto& result : check.op().results) in_range = in_range && dim < result->type.rank();
  return check.Require(in_range, "a dimension is out of range");
}

// Only `dim` changes, to or from a multiple.
void CheckScaledDim(OpCheck& check, int64_t dim, bool grows) {
  if (!CheckPairs(check) || !IsDim(check, dim)) return;
  for (size_t i = 0; i < check.op().operands.size(); ++i) {
    Dims small = check.op().operand_type(i).dims;
    Dims large = check.op().type(i).dims;
    if (!grows) small.swap(large);
    const int64_t factor_of = small[size_t(dim)];
    check.Require(
        factor_of == large[size_t(dim)] || (factor_of > 0 && large[size_t(dim)] % factor_of == 0),
        "the dimension of gathering or scattering is no multiple");
    small[size_t(dim)] = large[size_t(dim)];
    check.Require(small == large,
                  "another dimension than the one of gathering or scattering "
                  "changes");
  }
}

void CheckAllToAll(OpCheck& check) {
  const Op& op = check.op();
  const int64_t split = op.Int("split_dimension");
  const int64_t concat = op.Int("concat_dimension");
  const int64_t count = op.Int("split_count");
  if (!CheckPairs(check) || !IsDim(check, split) || !IsDim(check, concat) ||
      !check.Require(count >= 1, "split_count is below 1"))
    return;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    Dims dims = op.operand_type(i).dims;
    if (!check.Require(dims[size_t(split)] % count == 0,
                       "split_count does not divide the dimension"))
      return;
    dims[size_t(split)] /= count;
    check.Require(op.type(i).dims[size_t(concat)] / count == dims[size_t(concat)],
                  "the result is not the exchanged pieces one after the other");
    dims[size_t(concat)] = op.type(i).dims[size_t(concat)];
    check.Require(op.type(i).dims == dims,
                  "the result is not the exchanged pieces one after the other");
  }
}

// Shardings, one a value and one entry a dimension.
template <typename Values>
bool AreShardings(const Attribute& attribute, const Values& values) {
  const auto* list = attribute.As<std::vector<Attribute>>();
  if (list == nullptr || list->size() != values.size()) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto* sharding = (*list)[i].template As<Sharding>();
    if (sharding == nullptr || sharding->dims.size() != values[i]->type.dims.size()) return false;
  }
  return true;
}

void CheckManualComputation(OpCheck& check) {
  const Op& op = check.op();
  const Block& body = *op.regions[0];
  check.Require(AreShardings(*op.Find("in_shardings"), op.operands) &&
                    AreShardings(*op.Find("out_shardings"), op.results),
                "in_shardings or out_shardings do not fit operands or results");
  for (const Attribute& axis : std::get<std::vector<Attribute>>(op.Find("manual_axes")->value))
    check.Require(axis.As<std::string>() != nullptr, "a manual axis is no name");
  // Inside, values are one device's piece.
  auto is_piece = [](const Type& piece, const Type& whole) {
    return piece.kind == whole.kind && piece.dtype == whole.dtype && piece.rank() == whole.rank();
  };
  const Op& end = *body.terminator();
  if (!check.Require(
          body.arguments.size() == op.operands.size() && end.operands.size() == op.results.size(),
          "the body's arguments or results differ in number from the op's"))
    return;
  for (size_t i = 0; i < op.operands.size(); ++i)
    check.Require(is_piece(body.arguments[i]->type, op.operand_type(i)),
                  "an argument of the body is no piece of the operand");
  for (size_t i = 0; i < op.results.size(); ++i)
    check.Require(is_piece(end.operand_type(i), op.type(i)),
                  "a result of the body is no piece of the result");
}

}  // namespace

void CheckCollective(OpCheck& check) {
  const Op& op = check.op();
  switch (op.code) {
    case OpCode::kPartitionId:
    case OpCode::kReplicaId:
      check.Require(IsScalar(op.type(), DType::kU32), "the result is not a ui32 scalar");
      return;
    case OpCode::kAllGather:
      return CheckScaledDim(check, op.Int("all_gather_dim"), true);
    case OpCode::kReduceScatter:
      CheckScaledDim(check, op.Int("scatter_dimension"), false);
      return CheckComputation(check);
    case OpCode::kAllToAll:
      return CheckAllToAll(check);
    case OpCode::kAllReduce:
    case OpCode::kCollectiveReduce:
      CheckSameTypes(check);
      if (check.problem().empty()) CheckComputation(check);
      return;
    case OpCode::kCollectivePermute:
      check.Require(op.IntList("source_target_pairs").size() % 2 == 0,
                    "source_target_pairs are no pairs");
      return CheckSameTypes(check);
    case OpCode::kSdyManualComputation:
      return CheckManualComputation(check);
    case OpCode::kSdyShardingConstraint:
      check.Require(
          std::get<Sharding>(op.Find("sharding")->value).dims.size() == op.type().dims.size(),
          "the sharding has not one entry a dimension");
      return CheckSameTypes(check);
    default:  // kCollectiveBroadcast, kCrossReplicaSum
      return CheckSameTypes(check);
  }
}

}  // namespace PJRT_PLUGIN_NS::program
