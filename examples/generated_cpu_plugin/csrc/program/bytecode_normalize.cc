#include "program/bytecode_normalize.h"

#include <string>
#include <utility>

namespace PJRT_PLUGIN_NS::program {
namespace {

// A list of integers is stored as a constant tensor.
bool ToInts(Attribute& attribute, Budget& budget, Cursor& in) {
  if (attribute.As<Ints>() != nullptr) return true;
  const auto* literal = attribute.As<Literal>();
  if (literal == nullptr ||
      !(backend::IsInt(literal->type.dtype) || literal->type.dtype == DType::kPred)) {
    return false;
  }
  const int64_t count = literal->type.num_elements();
  budget.Charge(size_t(count) * sizeof(int64_t), in);
  if (!in.ok()) return false;
  Ints ints(size_t(count), 0);
  for (int64_t i = 0; i < count; ++i) ints[size_t(i)] = literal->IntAt(i);
  attribute.value = std::move(ints);
  return true;
}

// Groups are the rows of a matrix; short ones are filled up with -1.
bool ToRows(Attribute& attribute, Budget& budget, Cursor& in) {
  if (attribute.As<AttributeList>() != nullptr)
    in.Unsupported(
        "replica_groups given by the axes of a mesh; ask for StableHLO 1.13.0, where they are "
        "lists of devices");
  const auto* literal = attribute.As<Literal>();
  if (literal == nullptr || literal->type.rank() != 2 || !backend::IsInt(literal->type.dtype))
    return false;
  const int64_t num_rows = literal->type.dims[0];
  const int64_t row_size = literal->type.dims[1];
  budget.Charge(size_t(num_rows) * sizeof(Attribute), in);
  budget.Charge(size_t(literal->type.num_elements()) * sizeof(int64_t), in);
  if (!in.ok()) return false;
  std::vector<Attribute> rows;
  for (int64_t i = 0; i < num_rows; ++i) {
    Ints row;
    for (int64_t j = 0; j < row_size; ++j)
      if (int64_t id = literal->IntAt(i * row_size + j); id >= 0) row.push_back(id);
    rows.push_back({std::move(row)});
  }
  attribute.value = std::move(rows);
  return true;
}

bool ToPrecisions(Attribute& attribute) {
  const auto* list = attribute.As<std::vector<Attribute>>();
  if (list == nullptr) return false;
  Ints precisions;
  for (const Attribute& one : *list) {
    const auto* value = one.As<int64_t>();
    if (value == nullptr || EnumName(AttrKind::kPrecisions, *value).empty()) return false;
    precisions.push_back(*value);
  }
  attribute.value = std::move(precisions);
  return true;
}

// Tolerances and mode all zero: nothing is asked for.
bool IsDefaultAccuracy(const AttributeList& accuracy) {
  for (const NamedAttribute& one : accuracy) {
    if (const auto* number = one.value.As<double>(); number != nullptr && *number != 0)
      return false;
    if (const auto* number = one.value.As<int64_t>(); number != nullptr && *number != 0)
      return false;
  }
  return true;
}

bool IsKind(AttrKind kind, Attribute& attribute, Budget& budget, Cursor& in) {
  switch (kind) {
    case AttrKind::kAny:
      return true;
    case AttrKind::kBool:
      return attribute.As<bool>() != nullptr;
    case AttrKind::kInt:
      return attribute.As<int64_t>() != nullptr;
    case AttrKind::kFloat:
      return attribute.As<double>() != nullptr;
    case AttrKind::kString:
      return attribute.As<std::string>() != nullptr;
    case AttrKind::kInts:
      return ToInts(attribute, budget, in);
    case AttrKind::kRows:
      return ToRows(attribute, budget, in);
    case AttrKind::kList:
      return attribute.As<std::vector<Attribute>>() != nullptr;
    case AttrKind::kDict:
    case AttrKind::kAccuracy:
      return attribute.As<AttributeList>() != nullptr;
    case AttrKind::kLiteral:
      return attribute.As<Literal>() != nullptr;
    case AttrKind::kSharding:
      return attribute.As<Sharding>() != nullptr;
    case AttrKind::kPrecisions:
      return ToPrecisions(attribute);
    case AttrKind::kComparisonDirection:
    case AttrKind::kComparisonType:
    case AttrKind::kCustomCallApiVersion:
    case AttrKind::kFftType:
    case AttrKind::kRngAlgorithm:
    case AttrKind::kRngDistribution:
    case AttrKind::kTranspose: {
      const auto* value = attribute.As<int64_t>();
      return value != nullptr && !EnumName(kind, *value).empty();
    }
  }
  return false;
}

}  // namespace

bool NormalizeAttribute(const AttrInfo& info, Attribute& attribute, Budget& budget, Cursor& in) {
  if (info.optional) {
    const auto* type = attribute.As<Type>();
    if (type != nullptr && type->kind == TypeKind::kNone) return false;
  }
  if (!IsKind(info.kind, attribute, budget, in)) {
    in.Fail("attribute " + std::string(info.name) + " is no " +
            std::string(AttrKindName(info.kind)));
    return false;
  }
  // The kind says what the type is.
  if (info.kind != AttrKind::kAny) attribute.dtype.reset();
  return info.kind != AttrKind::kAccuracy || !IsDefaultAccuracy(*attribute.As<AttributeList>());
}

Attribute DefaultAttribute(AttrKind kind) {
  switch (kind) {
    case AttrKind::kBool:
      return {false};
    case AttrKind::kList:
      return {std::vector<Attribute>()};
    default:
      return {Ints()};
  }
}

void NormalizeOp(Op& op) {
  for (NamedAttribute& attribute : op.attributes) {
    auto* value = std::get_if<int64_t>(&attribute.value.value);
    if (value == nullptr || op.operands.empty()) continue;
    const Type& type = op.operand_type(0);
    if (op.code == OpCode::kCompare && attribute.name == "compare_type" && *value == 0) {
      const bool is_float = backend::IsFloat(type.dtype) || backend::IsComplex(type.dtype);
      *value = int64_t(is_float                           ? ComparisonType::kFloat
                       : backend::IsSignedInt(type.dtype) ? ComparisonType::kSigned
                                                          : ComparisonType::kUnsigned);
    }
    if (op.code == OpCode::kSort && attribute.name == "dimension" && *value < 0)
      *value += type.rank();
  }
}

}  // namespace PJRT_PLUGIN_NS::program
