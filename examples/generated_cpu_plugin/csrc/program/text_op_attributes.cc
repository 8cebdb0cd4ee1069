#include "program/text_op_attributes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "program/bytecode_normalize.h"
#include "program/op_table.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::Status;

bool IsGroup(std::string_view name) {
  return name.ends_with("dimension_numbers") || name == "algorithm" || name == "channel_handle";
}

bool IsDeclared(const OpInfo& info, std::string_view name) {
  return std::any_of(info.attributes.begin(), info.attributes.end(),
                     [&](const AttrInfo& declared) { return declared.name == name; });
}

// Takes StableHLO's groups apart.
AttributeList Flat(AttributeList attributes) {
  AttributeList flat;
  for (NamedAttribute& one : attributes) {
    auto* group = std::get_if<AttributeList>(&one.value.value);
    if (group == nullptr || !IsGroup(one.name)) {
      flat.push_back(std::move(one));
      continue;
    }
    for (NamedAttribute& part : *group) {
      if (one.name == "channel_handle")
        part.name = part.name == "handle" ? "channel_id" : "channel_type";
      flat.push_back(std::move(part));
    }
  }
  return flat;
}

// Enumerations are written by name.
void SpellingsToValues(AttrKind kind, Attribute& attribute) {
  const auto value = [](AttrKind of, Attribute& one) {
    const auto* text = one.As<std::string>();
    if (text == nullptr) return;
    if (const auto number = EnumValue(of, *text)) one.value = *number;
  };
  if (kind >= AttrKind::kComparisonDirection && kind < AttrKind::kPrecisions)
    value(kind, attribute);
  if (kind == AttrKind::kPrecisions)
    if (auto* list = std::get_if<std::vector<Attribute>>(&attribute.value))
      for (Attribute& one : *list) value(kind, one);
  if (kind == AttrKind::kAccuracy)
    if (auto* list = std::get_if<AttributeList>(&attribute.value))
      for (NamedAttribute& one : *list)
        if (const auto* mode = one.value.As<std::string>())
          one.value.value = int64_t(*mode == "HIGHEST" ? 1 : *mode == "TOLERANCE" ? 2 : 0);
}

// What MLIR leaves out when it is the usual; nothing where it has to be there.
std::optional<Attribute> Absent(const Op& op, const AttrInfo& declared) {
  const std::string_view name = declared.name;
  const bool is_conv = op.code == OpCode::kConvolution || op.code == OpCode::kDynamicConv;
  const size_t rank = op.operands.empty() ? 0 : op.operand_type(0).dims.size();
  const size_t spatial = is_conv ? rank - std::min<size_t>(rank, 2) : rank;
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  switch (declared.kind) {
    case AttrKind::kInts:
      if (op.code != OpCode::kSlice &&
          (name.ends_with("strides") || name.ends_with("dilation") || name.ends_with("dilations")))
        return {{Ints(spatial, 1)}};
      if (name == "window_dimensions" && op.code == OpCode::kSelectAndScatter)
        return {{Ints(spatial, 1)}};
      if (name == "padding") return {{Ints(2 * spatial, 0)}};
      if (name == "window_reversal") return {{Ints(spatial, 0)}};
      if (name.find("_dims") != name.npos || name.ends_with("expanding_dimensions") ||
          name.ends_with("batching_dimensions") || name.ends_with("contracting_dimensions") ||
          is_one_of({"start_index_map"}) ||
          (name == "source_target_pairs" && op.code != OpCode::kCollectivePermute))
        return {{Ints()}};
      return std::nullopt;
    case AttrKind::kPrecisions:
      return {{Ints(2, 0)}};
    case AttrKind::kInt:
      if (name == "dimension" && op.code == OpCode::kSort) return {{int64_t{-1}}};
      if (is_one_of({"channel_id", "channel_type", "index_vector_dim", "version", "batch_dims"}))
        return {{int64_t{0}}};
      return std::nullopt;
    case AttrKind::kComparisonType:
      return {{int64_t(ComparisonType::kNone)}};
    case AttrKind::kCustomCallApiVersion:
      return {{int64_t(CustomCallApiVersion::kOriginal)}};
    case AttrKind::kString:
      if (!name.ends_with("_config") || name == "einsum_config") return std::nullopt;
      return {{std::string()}};
    case AttrKind::kAny:
      return {{std::string()}};
    case AttrKind::kDict:
      return {{AttributeList()}};
    case AttrKind::kBool:
    case AttrKind::kList:
      return DefaultAttribute(declared.kind);
    default:
      return std::nullopt;
  }
}

}  // namespace

void SetTextAttributes(TextOp& text, Budget& budget) {
  TextCursor& in = text.start;
  const OpInfo& info = InfoOf(text.op.code);
  for (NamedAttribute& one : text.attributes) {
    if (IsDeclared(info, one.name) || (IsGroup(one.name) && !info.attributes.empty())) {
      text.inherent.push_back(std::move(one));
    } else if (!std::holds_alternative<std::monostate>(one.value.value)) {
      text.op.discardable.push_back(std::move(one));
    }
  }
  AttributeList flat = Flat(std::move(text.inherent));
  for (const NamedAttribute& one : flat)
    if (!IsDeclared(info, one.name) && one.name != "channel_type")
      return in.Unsupported("attribute " + one.name + " of " + text.name + " is unknown here");
  for (const AttrInfo& declared : info.attributes) {
    const std::string name(declared.name);
    const auto found = std::find_if(flat.begin(), flat.end(), [&](const NamedAttribute& one) {
      return one.name == declared.name;
    });
    if (found == flat.end()) {
      if (declared.optional) continue;
      std::optional<Attribute> usual = Absent(text.op, declared);
      if (!usual) return in.Fail("attribute " + name + " of " + text.name + " is missing");
      text.op.attributes.push_back({name, std::move(*usual)});
      continue;
    }
    SpellingsToValues(declared.kind, found->value);
    Status problem;
    Cursor unused({}, 0, &problem);
    const bool keep = NormalizeAttribute(declared, found->value, budget, unused);
    if (problem.code() == backend::Code::kUnimplemented)
      return in.Unsupported(name + " of " + text.name +
                            " is given by the axes of a mesh; write lists of devices, as StableHLO "
                            "1.13.0 has them");
    if (!problem.ok())
      return in.Fail("attribute " + name + " of " + text.name + " is no " +
                     std::string(AttrKindName(declared.kind)));
    if (keep) text.op.attributes.push_back({name, std::move(found->value)});
  }
}

}  // namespace PJRT_PLUGIN_NS::program
