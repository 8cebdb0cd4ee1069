// Ops that apply a region to scalars: reductions, windows, sort, map.

#include "program/verify_op.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

constexpr std::string_view kBadComputation =
    "the computation does not map two scalars of each operand's element type to one";

std::vector<Type> Twice(const std::vector<Type>& types) {
  std::vector<Type> both = types;
  both.insert(both.end(), types.begin(), types.end());
  return both;
}

// Inputs of one shape, an initial scalar and a result for each.
bool CheckInputs(OpCheck& check, std::span<Value* const> inputs, std::span<Value* const> inits) {
  const Op& op = check.op();
  if (!check.Require(!inputs.empty() && op.results.size() == inputs.size(),
                     "inputs and results differ in number"))
    return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check.Require(inputs[i]->type.dims == inputs[0]->type.dims, "the inputs differ in shape");
    check.RequireSupported(IsScalar(inits[i]->type, inputs[i]->type.dtype) &&
                               op.type(i).dtype == inputs[i]->type.dtype,
                           "initial value or result is not of the input's element type");
  }
  const std::vector<Type> elements = ElementTypes(inputs);
  check.RequireSupported(HasSignature(*op.regions[0], Twice(elements), elements), kBadComputation);
  return check.problem().empty();
}

void CheckReduce(OpCheck& check) {
  const Op& op = check.op();
  const std::span<Value* const> inputs = Operands(op, 0);
  if (!CheckInputs(check, inputs, Operands(op, 1))) return;
  const Ints& reduced = op.IntList("dimensions");
  const Dims& dims = inputs[0]->type.dims;
  check.Require(AreDistinctDims(reduced, int64_t(dims.size())),
                "dimensions are out of range or repeated");
  Dims kept;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!Contains(reduced, int64_t(i))) kept.push_back(dims[i]);
  for (const auto& result : op.results)
    check.Require(result->type.dims == kept, "the result is not of the dimensions that are kept");
}

// `dims` after windows as the op declares them, held against `result`.
void CheckWindowed(OpCheck& check, const Dims& dims, const Dims& result) {
  const Op& op = check.op();
  const size_t rank = dims.size();
  const bool dilated = op.code == OpCode::kReduceWindow;
  const Ints ones(rank, 1);
  const Ints& sizes = op.IntList("window_dimensions");
  const Ints& strides = op.IntList("window_strides");
  const Ints& padding = op.IntList("padding");
  const Ints& base = dilated ? op.IntList("base_dilations") : ones;
  const Ints& window = dilated ? op.IntList("window_dilations") : ones;
  if (!check.Require(sizes.size() == rank && strides.size() == rank && base.size() == rank &&
                         window.size() == rank && padding.size() == 2 * rank &&
                         result.size() == rank,
                     "the window is not given for each dimension"))
    return;
  for (size_t i = 0; i < rank; ++i) {
    const auto size = WindowedSize(
        dims[i], {sizes[i], strides[i], padding[2 * i], padding[2 * i + 1], base[i], window[i]});
    check.Require(size.has_value(), "window, stride or dilation below 1, or beyond all memory");
    check.Require(!size || *size == result[i], "the result is not of the number of windows");
  }
}

void CheckSelectAndScatter(OpCheck& check) {
  const Op& op = check.op();
  const Type& operand = op.operand_type(0);
  const Type& source = op.operand_type(1);
  const Type element = Type::Tensor(operand.dtype, {});
  check.Require(op.type() == operand, "operand and result differ in type");
  check.Require(source.dtype == operand.dtype && IsScalar(op.operand_type(2), operand.dtype),
                "source or initial value is not of the operand's element type");
  CheckWindowed(check, operand.dims, source.dims);
  check.Require(HasSignature(*op.regions[0], {element, element}, {Type::Tensor(DType::kPred, {})}),
                "select does not map two of the operand's elements to a boolean");
  check.RequireSupported(HasSignature(*op.regions[1], {element, element}, {element}),
                         kBadComputation);
}

void CheckSort(OpCheck& check) {
  const Op& op = check.op();
  if (!check.Require(!op.operands.empty() && op.results.size() == op.operands.size(),
                     "inputs and results differ in number"))
    return;
  const int64_t dim = op.Int("dimension");
  check.Require(dim >= 0 && dim < op.operand_type(0).rank(), "dimension is out of range");
  std::vector<Type> arguments;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    check.Require(op.operand_type(i).dims == op.operand_type(0).dims, "the inputs differ in shape");
    check.Require(op.type(i) == op.operand_type(i), "an input and its result differ in type");
    arguments.insert(arguments.end(), 2, Type::Tensor(op.operand_type(i).dtype, {}));
  }
  check.Require(HasSignature(*op.regions[0], arguments, {Type::Tensor(DType::kPred, {})}),
                "the comparator does not map two elements of each input to a boolean");
}

void CheckMap(OpCheck& check) {
  const Op& op = check.op();
  const Ints& dims = op.IntList("dimensions");
  check.Require(int64_t(dims.size()) == op.type().rank() && AreDistinctDims(dims, op.type().rank()),
                "dimensions are not all dimensions");
  for (const Value* operand : op.operands)
    check.Require(operand->type.dims == op.type().dims, "operands and result differ in shape");
  check.Require(
      HasSignature(*op.regions[0], ElementTypes(op.operands), {Type::Tensor(op.type().dtype, {})}),
      "the computation does not map one element of each input to one of the result");
}

}  // namespace

void CheckReduction(OpCheck& check) {
  const Op& op = check.op();
  switch (op.code) {
    case OpCode::kReduce:
      return CheckReduce(check);
    case OpCode::kReduceWindow:
      if (!CheckInputs(check, Operands(op, 0), Operands(op, 1))) return;
      for (const auto& result : op.results)
        CheckWindowed(check, op.operand_type(0).dims, result->type.dims);
      return;
    case OpCode::kSelectAndScatter:
      return CheckSelectAndScatter(check);
    case OpCode::kSort:
      return CheckSort(check);
    default:
      return CheckMap(check);
  }
}

}  // namespace PJRT_PLUGIN_NS::program
