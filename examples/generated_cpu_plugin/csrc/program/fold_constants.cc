#include "program/fold_constants.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "program/op_table.h"
#include "program/rewrite.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

constexpr int64_t kMaxFoldedElements = 256;

bool IsWhole(DType dtype) { return dtype == DType::kPred || backend::IsInt(dtype); }

// `value` wrapped to the width of the type, as IntAt would read it.
int64_t Wrap(DType dtype, int64_t value) {
  const int unused = 64 - int(backend::DTypeBits(dtype));
  const uint64_t top = uint64_t(value) << unused;
  return backend::IsSignedInt(dtype) ? int64_t(top) >> unused : int64_t(top >> unused);
}

bool Holds(ComparisonDirection direction, int order) {
  switch (direction) {
    case ComparisonDirection::kEq:
      return order == 0;
    case ComparisonDirection::kNe:
      return order != 0;
    case ComparisonDirection::kGe:
      return order >= 0;
    case ComparisonDirection::kGt:
      return order > 0;
    case ComparisonDirection::kLe:
      return order <= 0;
    case ComparisonDirection::kLt:
      return order < 0;
  }
  return false;
}

int Order(DType dtype, int64_t a, int64_t b) {
  if (dtype == DType::kU64) return uint64_t(a) < uint64_t(b) ? -1 : uint64_t(a) > uint64_t(b);
  return a < b ? -1 : a > b;
}

// One element; `dtype` is that of the operands. Arithmetic wraps.
std::optional<int64_t> Compute(const Op& op, DType dtype, int64_t a, int64_t b, int64_t c) {
  const auto wide = [](int64_t x) { return uint64_t(x); };
  const int bits = int(backend::DTypeBits(dtype));
  const bool is_bool = dtype == DType::kPred;
  switch (op.code) {
    case OpCode::kAdd:
      return is_bool ? (a | b) : int64_t(wide(a) + wide(b));
    case OpCode::kSubtract:
      return int64_t(wide(a) - wide(b));
    case OpCode::kMultiply:
      return is_bool ? (a & b) : int64_t(wide(a) * wide(b));
    case OpCode::kNegate:
      return int64_t(0 - wide(a));
    case OpCode::kAnd:
      return a & b;
    case OpCode::kOr:
      return a | b;
    case OpCode::kXor:
      return a ^ b;
    case OpCode::kNot:
      return is_bool ? !a : ~a;
    case OpCode::kMaximum:
      return Order(dtype, a, b) >= 0 ? a : b;
    case OpCode::kMinimum:
      return Order(dtype, a, b) <= 0 ? a : b;
    case OpCode::kCompare:
      return Holds(op.As<ComparisonDirection>("comparison_direction"), Order(dtype, a, b));
    case OpCode::kSelect:
      return a != 0 ? b : c;
    case OpCode::kConvert:
      return op.type().dtype == DType::kPred ? a != 0 : a;
    case OpCode::kShiftLeft:  // shifts by the width or more give zero, or all sign
      return wide(b) < uint64_t(bits) ? int64_t(wide(a) << b) : 0;
    case OpCode::kShiftRightLogical: {
      const uint64_t mask = ~uint64_t{0} >> (64 - bits);
      return wide(b) < uint64_t(bits) ? int64_t((wide(a) & mask) >> b) : 0;
    }
    case OpCode::kPopcnt:
      return std::popcount(wide(a) & ~uint64_t{0} >> (64 - bits));
    default:
      return std::nullopt;
  }
}

std::optional<Literal> FoldArithmetic(const Op& op, const std::vector<const Literal*>& operands) {
  const Type& type = op.type();
  if (operands.size() > 3 || operands.empty() || !IsWhole(type.dtype)) return std::nullopt;
  bool all_splat = true;
  for (const Literal* operand : operands) {
    if (!IsWhole(operand->type.dtype)) return std::nullopt;
    // Elements that are side by side, which they are in no dot or concatenate.
    if (operand->type.rank() != 0 && operand->type.dims != type.dims) return std::nullopt;
    all_splat = all_splat && operand->splat;
  }
  const int64_t count = all_splat ? 1 : type.num_elements();
  if (count > kMaxFoldedElements || type.num_elements() == 0) return std::nullopt;
  const size_t width = backend::DTypeBytes(type.dtype);
  std::vector<std::byte> bytes(size_t(count) * width);
  int64_t values[3] = {0, 0, 0};
  for (int64_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < operands.size(); ++k)
      values[k] = operands[k]->IntAt(operands[k]->type.rank() == 0 ? 0 : i);
    const auto value = Compute(op, operands[0]->type.dtype, values[0], values[1], values[2]);
    if (!value) return std::nullopt;
    const int64_t wrapped = Wrap(type.dtype, *value);
    std::memcpy(bytes.data() + size_t(i) * width, &wrapped, width);  // little-endian
  }
  if (all_splat) return Splat(type, bytes.data(), width);
  return Literal{type, count == 1,
                 std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

// The element of the operand that result element `index` (by dimension) comes from; -1: none, for
// what does not move.
int64_t SourceOf(const Op& op, const Dims& index) {
  const Dims& dims = op.operand_type(0).dims;
  Dims source(dims.size());
  for (size_t i = 0; i < index.size(); ++i) {
    switch (op.code) {
      case OpCode::kTranspose:
        source[size_t(op.IntList("permutation")[i])] = index[i];
        break;
      case OpCode::kSlice:
        source[i] = op.IntList("start_indices")[i] + index[i] * op.IntList("strides")[i];
        break;
      case OpCode::kReverse: {
        const Ints& reversed = op.IntList("dimensions");
        const bool turned =
            std::find(reversed.begin(), reversed.end(), int64_t(i)) != reversed.end();
        source[i] = turned ? dims[i] - 1 - index[i] : index[i];
        break;
      }
      default:
        return -1;
    }
  }
  int64_t linear = 0;
  for (size_t i = 0; i < dims.size(); ++i) linear = linear * dims[i] + source[i];
  return linear;
}

// Counts `index` up, the last dimension first.
void Next(Dims& index, const Dims& dims) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++index[i] < dims[i]) return;
    index[i] = 0;
  }
}

std::optional<Literal> FoldMove(const Op& op, const Literal& operand) {
  const Type& type = op.type();
  const int64_t count = type.num_elements();
  const bool moves =
      op.code == OpCode::kTranspose || op.code == OpCode::kSlice || op.code == OpCode::kReverse;
  if (!moves || count == 0) return std::nullopt;
  const size_t width = backend::DTypeBytes(type.dtype);
  if (operand.splat) return Splat(type, operand.bytes(), width);
  if (count > kMaxFoldedElements) return std::nullopt;
  std::vector<std::byte> bytes(size_t(count) * width);
  Dims index(type.dims.size());
  for (int64_t i = 0; i < count; ++i, Next(index, type.dims))
    std::memcpy(bytes.data() + size_t(i) * width,
                operand.bytes() + size_t(SourceOf(op, index)) * width, width);
  return Literal{type, count == 1,
                 std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

}  // namespace

std::optional<Literal> FoldConstants(const Op& op) {
  if (op.operands.empty() || op.results.size() != 1 || !op.regions.empty()) return std::nullopt;
  std::vector<const Literal*> operands;
  for (const Value* operand : op.operands) {
    operands.push_back(ConstantOf(operand));
    if (operands.back() == nullptr) return std::nullopt;
  }
  const Type& type = op.type();
  if (op.code == OpCode::kReshape) {
    Literal literal = *operands[0];
    literal.type = type;
    return literal;
  }
  // A scalar, or equal elements, spread out.
  if ((op.code == OpCode::kBroadcastInDim || op.code == OpCode::kBroadcast) && operands[0]->splat)
    return Splat(type, operands[0]->bytes(), backend::DTypeBytes(type.dtype));
  if (op.operands.size() == 1)
    if (auto moved = FoldMove(op, *operands[0])) return moved;
  return FoldArithmetic(op, operands);
}

}  // namespace PJRT_PLUGIN_NS::program
