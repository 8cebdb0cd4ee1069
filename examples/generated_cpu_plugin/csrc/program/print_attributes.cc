#include "program/print_attributes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "program/float_bits.h"
#include "program/op_table.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// More elements than this are printed as one string of hexadecimal bytes.
constexpr int64_t kMaxListed = 64;

std::string Hex(uint64_t value, size_t digits) {
  std::string out(digits, '0');
  for (size_t i = digits; i-- > 0; value >>= 4) out[i] = "0123456789ABCDEF"[value & 15];
  return out;
}

// The shortest decimal that reads back as the same value; MLIR wants a point in it.
template <typename T>
std::string Shortest(T value) {
  char buffer[64];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
  if (text.find('.') == text.npos) text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

std::string FloatText(DType dtype, uint64_t bits) {
  const double value = FloatFromBits(dtype, bits);
  if (!std::isfinite(value)) return "0x" + Hex(bits, backend::DTypeBytes(dtype) * 2);
  return dtype == DType::kF64 ? Shortest(value) : Shortest(float(value));
}

uint64_t ReadBits(const std::byte* at, size_t width) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, width);  // little-endian, as all supported machines
  return bits;
}

std::string ElementText(const Literal& literal, int64_t i) {
  const DType dtype = literal.type.dtype;
  const size_t width = backend::DTypeBytes(dtype);
  const std::byte* at = literal.bytes() + (literal.splat ? 0 : size_t(i) * width);
  if (backend::IsComplex(dtype)) {
    const DType part = dtype == DType::kC64 ? DType::kF32 : DType::kF64;
    return "(" + FloatText(part, ReadBits(at, width / 2)) + "," +
           FloatText(part, ReadBits(at + width / 2, width / 2)) + ")";
  }
  if (backend::IsFloat(dtype)) return FloatText(dtype, ReadBits(at, width));
  if (dtype == DType::kPred) return literal.IntAt(i) != 0 ? "true" : "false";
  if (dtype == DType::kU64) return std::to_string(uint64_t(literal.IntAt(i)));
  return std::to_string(literal.IntAt(i));
}

std::string NestedElements(const Literal& literal, size_t dim, int64_t begin, int64_t size) {
  if (dim == literal.type.dims.size()) return ElementText(literal, begin);
  const int64_t count = literal.type.dims[dim];
  const int64_t inner = size / count;
  std::string out = "[";
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) out += ", ";
    out += NestedElements(literal, dim + 1, begin + i * inner, inner);
  }
  return out + "]";
}

std::string Int64(int64_t value) { return std::to_string(value) + " : i64"; }
std::string Int32(int64_t value) { return std::to_string(value) + " : i32"; }

// [1, 2]
std::string Brackets(const Ints& ints) {
  return "[" + Join(ints, [](int64_t i) { return std::to_string(i); }) + "]";
}

// array<i64: 1, 2>
std::string Array(const Ints& ints, DType dtype = DType::kS64) {
  const std::string type(backend::DTypeName(dtype));
  if (ints.empty()) return "array<" + type + ">";
  return "array<" + type + ": " +
         Join(ints,
              [&](int64_t i) -> std::string {
                if (dtype == DType::kPred) return i != 0 ? "true" : "false";
                return std::to_string(i);
              }) +
         ">";
}

std::string BoolArray(const Ints& ints) { return Array(ints, DType::kPred); }

// dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>: rows of one length.
std::string Matrix(const std::vector<Ints>& rows, size_t row_size) {
  const std::string type = std::to_string(rows.size()) + "x" + std::to_string(row_size) + "xi64>";
  if (rows.empty() || row_size == 0) return "dense<> : tensor<" + type;
  return "dense<[" + Join(rows, Brackets) + "]> : tensor<" + type;
}

std::string Pairs(const Ints& ints) {
  std::vector<Ints> rows;
  for (size_t i = 0; i + 1 < ints.size(); i += 2) rows.push_back({ints[i], ints[i + 1]});
  return Matrix(rows, 2);
}

// Shorter groups are filled up with -1.
std::string Groups(const Attribute& attribute) {
  std::vector<Ints> rows;
  size_t size = 0;
  if (const auto* list = attribute.As<std::vector<Attribute>>()) {
    for (const Attribute& row : *list)
      if (const auto* ints = row.As<Ints>()) rows.push_back(*ints);
  }
  for (const Ints& row : rows) size = std::max(size, row.size());
  for (Ints& row : rows) row.resize(size, -1);
  return Matrix(rows, size);
}

std::string AxisText(const AxisRef& axis) {
  std::string out = Quoted(axis.name);
  if (axis.size != 0) out += ":(" + std::to_string(axis.pre_size) + ")" + std::to_string(axis.size);
  return out;
}

// <@mesh, [{"x"}, {}]>
std::string ShardingText(const Sharding& sharding) {
  std::string out = "<" + (sharding.mesh.empty() ? "mesh" + ToString(sharding.inlined_mesh)
                                                 : Symbol(sharding.mesh));
  out += ", [" +
         Join(sharding.dims,
              [](const DimSharding& dim) {
                std::string axes = Join(dim.axes, AxisText);
                if (!dim.closed) axes += axes.empty() ? "?" : ", ?";
                const std::string priority =
                    dim.priority < 0 ? "" : "p" + std::to_string(dim.priority);
                return "{" + axes + "}" + priority;
              }) +
         "]";
  if (!sharding.replicated.empty())
    out += ", replicated={" + Join(sharding.replicated, AxisText) + "}";
  if (!sharding.unreduced.empty())
    out += ", unreduced={" + Join(sharding.unreduced, AxisText) + "}";
  return out + ">";
}

std::string ShardingsText(const std::vector<Attribute>& list) {
  return "#sdy.sharding_per_value<[" +
         Join(list,
              [](const Attribute& one) {
                const auto* sharding = one.As<Sharding>();
                return sharding == nullptr ? ToString(one) : ShardingText(*sharding);
              }) +
         "]>";
}

std::string AccuracyText(const AttributeList& accuracy) {
  std::string out;
  for (const NamedAttribute& one : accuracy) {
    if (!out.empty()) out += ", ";
    out += one.name + " = ";
    if (const auto* number = one.value.As<double>()) out += Shortest(*number);
    if (const auto* number = one.value.As<int64_t>()) {
      static constexpr const char* kModes[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};
      out += one.name != "mode"
                 ? std::to_string(*number)
                 : "#stablehlo.result_accuracy_mode<" +
                       std::string(*number >= 0 && *number < 3 ? kModes[*number] : "?") + ">";
    }
  }
  return "#stablehlo.result_accuracy<" + out + ">";
}

std::string AliasText(const Attribute& attribute) {
  const auto* parts = attribute.As<AttributeList>();
  if (parts == nullptr) return ToString(attribute);
  return "#stablehlo.output_operand_alias<" +
         Join(*parts,
              [](const NamedAttribute& part) {
                const auto* ints = part.value.As<Ints>();
                const auto* index = part.value.As<int64_t>();
                return part.name + " = " +
                       (ints != nullptr ? Brackets(*ints) : std::to_string(index ? *index : 0));
              }) +
         ">";
}

// A layout is a tensor of `index` numbers.
std::string LayoutText(const Attribute& attribute) {
  Ints ints;
  if (const auto* list = attribute.As<Ints>()) ints = *list;
  if (const auto* literal = attribute.As<Literal>()) {
    for (int64_t i = 0; i < literal->type.num_elements(); ++i) ints.push_back(literal->IntAt(i));
  }
  return "dense<" + (ints.empty() ? "" : Brackets(ints)) + "> : tensor<" +
         std::to_string(ints.size()) + "xindex>";
}

template <typename F>
std::string ListText(const Attribute& attribute, F&& to_text) {
  const auto* list = attribute.As<std::vector<Attribute>>();
  return "[" + (list == nullptr ? "" : Join(*list, to_text)) + "]";
}

std::string SymbolText(const Attribute& attribute) {
  const auto* name = attribute.As<std::string>();
  return name == nullptr ? ToString(attribute) : Symbol(*name);
}

// ---- Attributes that StableHLO holds as one ----

// #stablehlo.<mnemonic><name = value, ...> of the attributes that the op has; empty lists are left
// out.
std::string Numbers(const Op& op, std::string_view mnemonic,
                    std::initializer_list<std::string_view> names) {
  std::string out;
  for (std::string_view name : names) {
    const Attribute* attribute = op.Find(name);
    if (attribute == nullptr) continue;
    std::string text;
    if (const auto* ints = attribute->As<Ints>()) {
      if (ints->empty()) continue;
      text = Brackets(*ints);
    } else if (const auto* number = attribute->As<int64_t>()) {
      text = std::to_string(*number);
    } else if (const auto* flag = attribute->As<bool>()) {
      text = *flag ? "true" : "false";
    } else if (const auto* type = attribute->As<std::string>()) {
      text = *type;
    }
    out += (out.empty() ? "" : ", ") + std::string(name) + " = " + text;
  }
  return "#stablehlo." + std::string(mnemonic) + "<" + out + ">";
}

// One side of a convolution: [b, 0, 1, f].
std::string ConvDims(const Op& op, std::string_view side, std::string_view first, char first_letter,
                     std::string_view second, char second_letter) {
  const std::string prefix(side);
  const Ints& spatial = op.IntList(prefix + "_spatial_dimensions");
  std::vector<std::string> names(spatial.size() + 2, "?");
  auto set = [&](int64_t at, std::string name) {
    if (at >= 0 && size_t(at) < names.size()) names[size_t(at)] = std::move(name);
  };
  set(op.Int(prefix + std::string(first)), std::string(1, first_letter));
  set(op.Int(prefix + std::string(second)), std::string(1, second_letter));
  for (size_t i = 0; i < spatial.size(); ++i) set(spatial[i], std::to_string(i));
  return "[" + Join(names, [](const std::string& name) { return name; }) + "]";
}

std::string ConvText(const Op& op) {
  return "#stablehlo.conv<" +
         ConvDims(op, "input", "_batch_dimension", 'b', "_feature_dimension", 'f') + "x" +
         ConvDims(op, "kernel", "_input_feature_dimension", 'i', "_output_feature_dimension", 'o') +
         "->" + ConvDims(op, "output", "_batch_dimension", 'b', "_feature_dimension", 'f') + ">";
}

// Names of the attributes that `name` is printed with, under another name; empty: by itself.
std::string_view GroupOf(const Op& op, std::string_view name) {
  const bool is_conv = op.code == OpCode::kConvolution || op.code == OpCode::kDynamicConv;
  if (is_conv &&
      (name.starts_with("input_") || name.starts_with("kernel_") || name.starts_with("output_")))
    return "dimension_numbers";
  if (name == "channel_id" || name == "channel_type") return "channel_handle";
  const bool is_dims =
      name.find("_dims") != name.npos || name == "index_vector_dim" || name == "start_index_map";
  switch (op.code) {
    case OpCode::kDotGeneral:
      if (name.ends_with("ing_dimensions")) return "dot_dimension_numbers";
      return name == "precision_config" ? "" : "algorithm";
    case OpCode::kGather:
    case OpCode::kDynamicGather:
      return is_dims ? "dimension_numbers" : "";
    case OpCode::kScatter:
      return is_dims ? "scatter_dimension_numbers" : "";
    default:
      return "";
  }
}

std::string GroupText(const Op& op, std::string_view group) {
  if (group == "channel_handle") {
    const Attribute* type = op.Find("channel_type");
    const auto* number = type == nullptr ? nullptr : type->As<int64_t>();
    return "#stablehlo.channel_handle<handle = " + std::to_string(op.Int("channel_id")) +
           ", type = " + std::to_string(number == nullptr ? 1 : *number) + ">";
  }
  if (group == "dot_dimension_numbers")
    return Numbers(op, "dot",
                   {"lhs_batching_dimensions", "rhs_batching_dimensions",
                    "lhs_contracting_dimensions", "rhs_contracting_dimensions"});
  if (group == "algorithm")
    return Numbers(
        op, "dot_algorithm",
        {"lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count",
         "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"});
  if (group == "scatter_dimension_numbers")
    return Numbers(
        op, "scatter",
        {"update_window_dims", "inserted_window_dims", "input_batching_dims",
         "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim"});
  if (op.code == OpCode::kGather || op.code == OpCode::kDynamicGather)
    return Numbers(op, "gather",
                   {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                    "start_indices_batching_dims", "start_index_map", "index_vector_dim"});
  return ConvText(op);
}

std::string EnumText(std::string_view mnemonic, AttrKind kind, int64_t value) {
  return "#stablehlo<" + std::string(mnemonic) + " " + std::string(EnumName(kind, value)) + ">";
}

// An attribute of the specification, by its kind and, where MLIR is not uniform, its name. Empty:
// absent in MLIR.
std::string DeclaredText(const AttrInfo& info, const Attribute& attribute) {
  const std::string_view name = info.name;
  switch (info.kind) {
    case AttrKind::kBool:
      if (name == "use_global_device_ids" && !std::get<bool>(attribute.value)) return "";
      return name == "use_global_device_ids" ? "unit" : ToString(attribute);
    case AttrKind::kInt: {
      const bool narrow = name == "version" || name == "exponent_bits" || name == "mantissa_bits" ||
                          name == "index";
      const int64_t value = std::get<int64_t>(attribute.value);
      return narrow ? Int32(value) : Int64(value);
    }
    case AttrKind::kFloat:
      return Shortest(float(std::get<double>(attribute.value))) + " : f32";
    case AttrKind::kString:
      return name == "callee" || name == "decomposition" ? SymbolText(attribute)
                                                         : ToString(attribute);
    case AttrKind::kInts:
      if (name == "padding" || name == "source_target_pairs")
        return Pairs(std::get<Ints>(attribute.value));
      return name == "window_reversal" ? BoolArray(std::get<Ints>(attribute.value))
                                       : Array(std::get<Ints>(attribute.value));
    case AttrKind::kRows:
      return Groups(attribute);
    case AttrKind::kList: {
      const auto& list = std::get<std::vector<Attribute>>(attribute.value);
      if (name.ends_with("_shardings")) return ShardingsText(list);
      if (name == "manual_axes")
        return "#sdy<manual_axes{" +
               Join(list, [](const Attribute& one) { return ToString(one); }) + "}>";
      if (list.empty()) return "";
      if (name == "called_computations") return ListText(attribute, SymbolText);
      if (name == "output_operand_aliases") return ListText(attribute, AliasText);
      if (name.ends_with("_layouts")) return ListText(attribute, LayoutText);
      return ToString(attribute);
    }
    case AttrKind::kAccuracy:
      return AccuracyText(std::get<AttributeList>(attribute.value));
    case AttrKind::kPrecisions:
      return "[" +
             Join(std::get<Ints>(attribute.value),
                  [](int64_t value) {
                    return EnumText("precision", AttrKind::kPrecisions, value);
                  }) +
             "]";
    case AttrKind::kCustomCallApiVersion:
      return Int32(std::get<int64_t>(attribute.value));
    case AttrKind::kComparisonDirection:
      return EnumText("comparison_direction", info.kind, std::get<int64_t>(attribute.value));
    case AttrKind::kComparisonType:
      return EnumText("comparison_type", info.kind, std::get<int64_t>(attribute.value));
    case AttrKind::kFftType:
      return EnumText("fft_type", info.kind, std::get<int64_t>(attribute.value));
    case AttrKind::kRngAlgorithm:
      return EnumText("rng_algorithm", info.kind, std::get<int64_t>(attribute.value));
    case AttrKind::kRngDistribution:
      return EnumText("rng_distribution", info.kind, std::get<int64_t>(attribute.value));
    case AttrKind::kTranspose:
      return EnumText("transpose", info.kind, std::get<int64_t>(attribute.value));
    case AttrKind::kAny:
    case AttrKind::kDict:
    case AttrKind::kLiteral:
    case AttrKind::kSharding:
      break;
  }
  return ToString(attribute);
}

bool IsBare(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.';
  });
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c >= 0x20 && c < 0x7f && c != '"') {
      out += c;
    } else {
      out += "\\" + Hex(uint8_t(c), 2);
    }
  }
  return out + "\"";
}

std::string Symbol(std::string_view name) {
  return "@" + (IsBare(name) ? std::string(name) : Quoted(name));
}

std::string ToString(const Literal& literal) {
  const Type& type = literal.type;
  const int64_t count = type.num_elements();
  std::string elements;
  if (count > 0 && literal.splat) {
    elements = ElementText(literal, 0);
  } else if (count > kMaxListed && backend::DTypeBits(type.dtype) >= 8) {
    elements = "\"0x";
    for (std::byte b : *literal.data) elements += Hex(uint64_t(b), 2);
    elements += '"';
  } else if (count > 0) {
    elements = NestedElements(literal, 0, 0, count);
  }
  return "dense<" + elements + "> : " + ToString(type);
}

std::string ToString(const Mesh& mesh) {
  std::string out = "<[" +
                    Join(mesh.axes,
                         [](const auto& axis) {
                           return Quoted(axis.first) + "=" + std::to_string(axis.second);
                         }) +
                    "]";
  if (!mesh.device_ids.empty()) out += ", device_ids=" + Brackets(mesh.device_ids);
  return out + ">";
}

std::string ToString(const AttributeList& list) {
  // Integers lose their width in the IR; XLA reads this one as an i32.
  const auto value = [](const NamedAttribute& one) {
    const auto* number = one.value.As<int64_t>();
    return one.name == "tf.aliasing_output" && number != nullptr ? Int32(*number)
                                                                 : ToString(one.value);
  };
  const auto pair = [&](const NamedAttribute& one) {
    return (IsBare(one.name) ? one.name : Quoted(one.name)) + " = " + value(one);
  };
  return "{" + Join(list, pair) + "}";
}

std::string ToString(const Attribute& attribute) {
  if (const auto* value = attribute.As<bool>()) return *value ? "true" : "false";
  if (const auto* value = attribute.As<int64_t>()) {
    const DType dtype = attribute.dtype.value_or(DType::kS64);
    return (dtype == DType::kU64 ? std::to_string(uint64_t(*value)) : std::to_string(*value)) +
           " : " + std::string(backend::DTypeName(dtype));
  }
  if (const auto* value = attribute.As<double>()) {
    const DType dtype = attribute.dtype.value_or(DType::kF64);
    return FloatText(dtype, FloatToBits(dtype, *value)) + " : " +
           std::string(backend::DTypeName(dtype));
  }
  if (const auto* value = attribute.As<std::string>()) return Quoted(*value);
  if (const auto* value = attribute.As<Ints>())
    return Array(*value, attribute.dtype.value_or(DType::kS64));
  if (const auto* value = attribute.As<Type>()) return ToString(*value);
  if (const auto* value = attribute.As<Literal>()) return ToString(*value);
  if (const auto* value = attribute.As<AttributeList>()) return ToString(*value);
  if (const auto* value = attribute.As<Sharding>()) return "#sdy.sharding" + ShardingText(*value);
  if (const auto* list = attribute.As<std::vector<Attribute>>()) {
    const bool shardings =
        !list->empty() && std::all_of(list->begin(), list->end(), [](const Attribute& one) {
          return one.As<Sharding>() != nullptr;
        });
    if (shardings) return ShardingsText(*list);
    return ListText(attribute, [](const Attribute& one) { return ToString(one); });
  }
  return "unit";
}

namespace {

// Whether a custom call gives layouts: MLIR wants those of operands and of results then, even where
// there are none.
bool SaysLayouts(const Op& op) {
  for (std::string_view name : {"operand_layouts", "result_layouts"}) {
    const Attribute* attribute = op.Find(name);
    const auto* list = attribute == nullptr ? nullptr : attribute->As<std::vector<Attribute>>();
    if (list != nullptr && !list->empty()) return true;
  }
  return false;
}

}  // namespace

std::string AttributesToString(const Op& op) {
  std::string out;
  auto append = [&](std::string_view name, const std::string& text) {
    if (text.empty()) return;
    if (!out.empty()) out += ", ";
    out += name;
    if (text != "unit") out += " = " + text;
  };
  std::vector<std::string_view> printed;
  for (const AttrInfo& info : InfoOf(op.code).attributes) {
    const Attribute* attribute = op.Find(info.name);
    if (attribute == nullptr) continue;
    const std::string_view group = GroupOf(op, info.name);
    if (group.empty()) {
      std::string text = DeclaredText(info, *attribute);
      if (text.empty() && info.name.ends_with("_layouts") && SaysLayouts(op)) text = "[]";
      append(info.name, text);
    } else if (std::find(printed.begin(), printed.end(), group) == printed.end()) {
      printed.push_back(group);
      // No channel is the channel 0.
      if (group != "channel_handle" || op.Find("channel_type") != nullptr ||
          op.Int("channel_id") != 0)
        append(group, GroupText(op, group));
    }
  }
  return out;
}

}  // namespace PJRT_PLUGIN_NS::program
