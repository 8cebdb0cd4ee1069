#include "program/text_attributes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "program/text_literals.h"
#include "program/text_sdy.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

std::string ElementName(TextCursor& in) {
  if (in.Accept("!")) {
    const std::string name = in.Word();
    in.Unsupported(name.starts_with("quant") ? "quantized types are not supported"
                                             : "a tensor of !" + name);
    return name;
  }
  std::string name = in.Word();
  if (name != "complex") return name;
  in.Expect("<");
  name += "<" + in.Word() + ">";
  in.Expect(">");
  return name;
}

std::vector<Type> ParseTypes(TextCursor& in, std::string_view open, std::string_view close) {
  std::vector<Type> types;
  in.Expect(open);
  if (in.Accept(close)) return types;
  do types.push_back(ParseType(in));
  while (in.ok() && in.Accept(","));
  in.Expect(close);
  return types;
}

// One side of #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>: where its letters and numbers stand.
void ParseConvSide(TextCursor& in, const std::string& side, AttributeList& list) {
  Ints spatial;
  in.Expect("[");
  for (int64_t at = 0; in.ok() && in.Peek() != ']'; ++at) {
    if (IsDigit(in.Peek())) {
      const int64_t dim = in.Integer();
      if (dim < 0 || dim > 64) return in.Fail("a spatial dimension is out of range");
      if (spatial.size() <= size_t(dim)) spatial.resize(size_t(dim) + 1, -1);
      spatial[size_t(dim)] = at;
    } else {
      const std::string letter = in.Word();
      const std::string name = letter == "b"   ? "_batch_dimension"
                               : letter == "f" ? "_feature_dimension"
                               : letter == "i" ? "_input_feature_dimension"
                                               : "_output_feature_dimension";
      list.push_back({side + name, {at}});
    }
    if (!in.Accept(",")) break;
  }
  in.Expect("]");
  list.push_back({side + "_spatial_dimensions", {std::move(spatial)}});
}

Attribute ParseDialectAttribute(TextCursor& in) {
  const std::string name = in.Word();
  if (std::optional<TextCursor> definition = in.Definition("#" + name)) {
    TextCursor at = *definition;
    Attribute attribute = ParseAttribute(at);
    in.Charge(*definition, at);
    return attribute;
  }
  if (name == "stablehlo.conv") {
    in.Expect("<");
    AttributeList list = ParseConvDimensions(in);
    in.Expect(">");
    return {std::move(list)};
  }
  if (name == "sdy.sharding") return {ParseSharding(in)};
  if (name == "sdy.mesh") {
    Sharding holder;
    holder.inlined_mesh = ParseMesh(in);
    return {std::move(holder)};
  }
  if (name == "sdy.sharding_per_value") {
    in.Expect("<");
    std::vector<Attribute> list = ParseShardings(in);
    in.Expect(">");
    return {std::move(list)};
  }
  if (name == "stablehlo" || name == "sdy" || name == "stablehlo.result_accuracy_mode") {
    // <mnemonic VALUE>, <VALUE>, or sdy's <manual_axes{"x"}>
    in.Expect("<");
    std::string value = in.Word();
    if (value == "manual_axes") {
      std::vector<Attribute> list = ParseManualAxes(in);
      in.Expect(">");
      return {std::move(list)};
    }
    if (in.Peek() != '>') value = in.Word();
    in.Expect(">");
    return {std::move(value)};
  }
  if (name.starts_with("stablehlo.")) return {ParseParameters(in)};
  if (in.Peek() == '<') in.SkipBrackets('<', '>');
  return {};
}

}  // namespace

Type ParseTensor(TextCursor& in) {
  Type type = Type::Tensor(DType::kF32, {});
  in.Expect("<");
  int64_t elements = 1;
  while (in.ok() && (IsDigit(in.Peek()) || in.Peek() == '?')) {
    const bool is_dynamic = in.Accept("?x");
    const int64_t dim = is_dynamic ? kDynamic : in.Dimension();
    if (dim > 0 && dim > kMaxElements / elements) in.Fail("a tensor of over 2^56 elements");
    if (dim > 0 && in.ok()) elements *= dim;
    type.dims.push_back(dim);
  }
  const std::string element = ElementName(in);
  const std::optional<DType> dtype = DTypeByName(element);
  if (!dtype) in.Fail("element type " + element + " is unknown");
  type.dtype = dtype.value_or(DType::kF32);
  if (in.Peek() == ',')
    in.Unsupported("a tensor with an encoding, such as bounds of its dimensions");
  in.Expect(">");
  return type;
}

Type ParseType(TextCursor& in) {
  Type type;
  if (in.depth() > 64) in.Fail("too deep a nest of types");
  if (!in.ok()) return type;
  TextCursor::Nested nested(in);
  if (in.Accept("tensor")) return ParseTensor(in);
  if (in.Accept("!")) {
    const std::string name = in.Word();
    if (name == "stablehlo.token") return Type::Token();
    std::optional<TextCursor> definition = in.Definition("!" + name);
    if (!definition) {
      in.Unsupported("the type !" + name + " is unknown here");
      return type;
    }
    TextCursor at = *definition;
    type = ParseType(at);
    in.Charge(*definition, at);
    return type;
  }
  if (in.Accept("none")) return type;
  if (in.Accept("tuple")) {
    type.kind = TypeKind::kTuple;
    type.elements = ParseTypes(in, "<", ">");
  } else if (in.Peek() == '(') {
    type.kind = TypeKind::kFunction;
    type.elements = ParseTypes(in, "(", ")");
    type.num_inputs = type.elements.size();
    in.Expect("->");
    if (in.Peek() == '(') {
      for (Type& result : ParseTypes(in, "(", ")")) type.elements.push_back(std::move(result));
    } else {
      type.elements.push_back(ParseType(in));
    }
  } else {
    in.Fail("a type is missing");
  }
  return type;
}

Attribute ParseAttribute(TextCursor& in) {
  if (in.depth() > 64) in.Fail("too deep a nest of attributes");
  if (!in.ok()) return {};
  TextCursor::Nested nested(in);
  const char first = in.Peek();
  if (first == '"') return {in.Quoted()};
  if (first == '{') return {ParseDictionary(in)};
  if (first == '(' || first == '!') return {ParseType(in)};
  if (IsDigit(first) || first == '-') return ParseNumber(in);
  if (in.Accept("@")) return {in.Peek() == '"' ? in.Quoted() : in.Name()};
  if (in.Accept("#")) return ParseDialectAttribute(in);
  if (in.Accept("[")) {
    std::vector<Attribute> list;
    while (in.ok() && in.Peek() != ']') {
      list.push_back(ParseAttribute(in));
      if (!in.Accept(",")) break;
    }
    in.Expect("]");
    return {std::move(list)};
  }
  if (in.Accept("true") || in.Accept("unit")) return {true};
  if (in.Accept("false")) return {false};
  if (in.Accept("array")) return ParseArray(in);
  if (in.Accept("dense")) return ParseDense(in);
  if (in.Accept("dense_resource")) {
    in.Unsupported("a constant in a resource at the end of the text; write it as dense<...>");
    return {};
  }
  if (in.Accept("tensor")) return {ParseTensor(in)};
  return {ElementName(in)};
}

AttributeList ParseDictionary(TextCursor& in) {
  AttributeList list;
  in.Expect("{");
  while (in.ok() && in.Peek() != '}') {
    std::string name = in.Peek() == '"' ? in.Quoted() : in.Word();
    Attribute value{true};  // a name alone is a unit
    if (in.Accept("=")) value = ParseAttribute(in);
    list.push_back({std::move(name), std::move(value)});
    if (!in.Accept(",")) break;
  }
  in.Expect("}");
  // MLIR keeps them by name.
  std::stable_sort(list.begin(), list.end(), [](const NamedAttribute& a, const NamedAttribute& b) {
    return a.name < b.name;
  });
  return list;
}

Ints ParseInts(TextCursor& in) {
  Ints ints;
  in.Expect("[");
  while (in.ok() && in.Peek() != ']') {
    ints.push_back(in.Integer());
    if (!in.Accept(",")) break;
  }
  in.Expect("]");
  return ints;
}

AttributeList ParseParameters(TextCursor& in) {
  AttributeList list;
  in.Expect("<");
  while (in.ok() && in.Peek() != '>') {
    std::string name = in.Word();
    in.Expect("=");
    Attribute value;
    TextCursor ahead = in;
    if (ahead.Accept("[") && ahead.Peek() != '#') {
      value.value = ParseInts(in);
    } else {
      value = ParseAttribute(in);
    }
    list.push_back({std::move(name), std::move(value)});
    if (!in.Accept(",")) break;
  }
  in.Expect(">");
  return list;
}

AttributeList ParseConvDimensions(TextCursor& in) {
  AttributeList list;
  ParseConvSide(in, "input", list);
  in.Expect("x");
  ParseConvSide(in, "kernel", list);
  in.Expect("->");
  ParseConvSide(in, "output", list);
  return list;
}

}  // namespace PJRT_PLUGIN_NS::program
