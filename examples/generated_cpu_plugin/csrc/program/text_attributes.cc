#include "program/text_attributes.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "program/float_bits.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

std::string ElementName(TextCursor& in) {
  std::string name = in.Word();
  if (name != "complex") return name;
  in.Expect("<");
  name += "<" + in.Word() + ">";
  in.Expect(">");
  return name;
}

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
  in.Expect(">");
  return type;
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

// ---- Constants ----

// The bits of a number of the type; hexadecimal numbers are bits.
uint64_t BitsOf(DType dtype, const std::string& token, TextCursor& in) {
  const char* begin = token.data();
  const char* end = begin + token.size();
  uint64_t bits = 0;
  if (token.starts_with("0x")) {
    std::from_chars(begin + 2, end, bits, 16);
  } else if (token == "true" || token == "false") {
    bits = token == "true";
  } else if (backend::IsFloat(dtype)) {
    double value = 0;
    if (std::from_chars(begin, end, value).ptr != end) in.Fail(token + " is no number");
    bits = FloatToBits(dtype, value);
  } else if (token.starts_with("-")) {
    int64_t value = 0;
    if (std::from_chars(begin, end, value).ptr != end) in.Fail(token + " is no integer");
    bits = uint64_t(value);
  } else if (std::from_chars(begin, end, bits).ptr != end) {
    in.Fail(token + " is no integer");
  }
  return bits;
}

std::string ElementToken(TextCursor& in) {
  if (in.Accept("true")) return "true";
  if (in.Accept("false")) return "false";
  return in.Number();
}

// The elements in order, brackets aside; both parts of complex ones.
void ParseElements(TextCursor& in, std::vector<std::string>& tokens, int depth) {
  if (depth > 64) return in.Fail("too deep a nest of elements");
  if (in.Accept("[")) {
    do ParseElements(in, tokens, depth + 1);
    while (in.ok() && in.Accept(","));
    return in.Expect("]");
  }
  if (!in.Accept("(")) return tokens.push_back(ElementToken(in));
  tokens.push_back(ElementToken(in));
  in.Expect(",");
  tokens.push_back(ElementToken(in));
  in.Expect(")");
}

std::vector<std::byte> FromHex(std::string_view text, TextCursor& in) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned value = 0;
    if (std::from_chars(text.data() + i, text.data() + i + 2, value, 16).ptr != text.data() + i + 2)
      in.Fail("a constant's bytes are not hexadecimal");
    bytes.push_back(std::byte(value));
  }
  return bytes;
}

Attribute ParseDense(TextCursor& in) {
  in.Expect("<");
  std::vector<std::string> tokens;
  std::string hex;
  if (in.Peek() == '"') {
    hex = in.Quoted();
  } else if (in.Peek() != '>') {
    ParseElements(in, tokens, 0);
  }
  in.Expect(">");
  in.Expect(":");
  in.Expect("tensor");
  // A layout is of the type index, which is no element of a program's tensors.
  const bool is_index = in.AcceptIndexTensor();
  Literal literal;
  literal.type = is_index ? Type::Tensor(DType::kS64, {int64_t(tokens.size())}) : ParseTensor(in);
  if (!in.ok()) return {};
  const DType dtype = literal.type.dtype;
  const bool is_complex = backend::IsComplex(dtype);
  const DType part = !is_complex ? dtype : dtype == DType::kC64 ? DType::kF32 : DType::kF64;
  const size_t width = backend::DTypeBytes(part);
  std::vector<std::byte> bytes = FromHex(hex.starts_with("0x") ? hex.substr(2) : "", in);
  for (const std::string& token : tokens) {
    const uint64_t bits = BitsOf(part, token, in);
    const auto* at = reinterpret_cast<const std::byte*>(&bits);  // little-endian
    bytes.insert(bytes.end(), at, at + width);
  }
  const size_t whole = backend::DTypeBytes(dtype);
  const size_t count = literal.type.is_static() ? size_t(literal.type.num_elements()) : 0;
  literal.splat = count > 0 && bytes.size() == whole;
  if (!literal.splat && (bytes.size() % whole != 0 || bytes.size() / whole != count))
    in.Fail("a constant with other than one element or all");
  literal.data = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {std::move(literal)};
}

// array<i64: 1, 2>
Attribute ParseArray(TextCursor& in) {
  Ints ints;
  std::vector<std::byte> bytes;
  in.Expect("<");
  const std::optional<DType> dtype = DTypeByName(in.Word());
  const bool is_float = dtype && backend::IsFloat(*dtype);
  if (in.Accept(":")) {
    do {
      const std::string token = ElementToken(in);
      const uint64_t bits = BitsOf(dtype.value_or(DType::kS64), token, in);
      ints.push_back(int64_t(bits));
      const auto* at = reinterpret_cast<const std::byte*>(&bits);  // little-endian
      if (is_float) bytes.insert(bytes.end(), at, at + backend::DTypeBytes(*dtype));
    } while (in.ok() && in.Accept(","));
  }
  in.Expect(">");
  if (!is_float) return {std::move(ints), dtype};
  return {Literal{Type::Tensor(*dtype, {int64_t(ints.size())}), false,
                  std::make_shared<const std::vector<std::byte>>(std::move(bytes))}};
}

Attribute ParseNumber(TextCursor& in) {
  const std::string token = in.Number();
  const bool is_hex = token.starts_with("0x");
  bool is_float = !is_hex && token.find('.') != token.npos;
  DType dtype = is_float ? DType::kF64 : DType::kS64;
  if (in.Accept(":")) {
    const std::optional<DType> named = DTypeByName(in.Word());
    if (named && (backend::IsFloat(*named) || !is_float)) dtype = *named;
    is_float = backend::IsFloat(dtype);
  }
  const uint64_t bits = BitsOf(dtype, token, in);
  if (is_float) return {FloatFromBits(dtype, bits), dtype};
  return {int64_t(bits), dtype};
}

// ---- Attributes of dialects ----

AxisRef ParseAxis(TextCursor& in) {
  AxisRef axis;
  axis.name = in.Quoted();
  if (!in.Accept(":")) return axis;
  in.Expect("(");
  axis.pre_size = in.Integer();
  in.Expect(")");
  axis.size = in.Integer();
  return axis;
}

std::vector<AxisRef> ParseAxes(TextCursor& in) {
  std::vector<AxisRef> axes;
  in.Expect("{");
  while (in.Peek() == '"') {
    axes.push_back(ParseAxis(in));
    if (!in.Accept(",")) break;
  }
  in.Expect("}");
  return axes;
}

Mesh ParseMesh(TextCursor& in) {
  Mesh mesh;
  in.Expect("<");
  in.Expect("[");
  while (in.Peek() == '"') {
    std::string name = in.Quoted();
    in.Expect("=");
    mesh.axes.emplace_back(std::move(name), in.Integer());
    if (!in.Accept(",")) break;
  }
  in.Expect("]");
  if (in.Accept(",")) {
    in.Expect("device_ids");
    in.Expect("=");
    in.Expect("[");
    do mesh.device_ids.push_back(in.Integer());
    while (in.ok() && in.Accept(","));
    in.Expect("]");
  }
  in.Expect(">");
  return mesh;
}

DimSharding ParseDimSharding(TextCursor& in) {
  DimSharding dim;
  in.Expect("{");
  do {
    if (in.Accept("?")) dim.closed = false;
    if (in.Peek() == '"') dim.axes.push_back(ParseAxis(in));
  } while (in.ok() && in.Accept(","));
  in.Expect("}");
  if (in.Peek() == 'p') dim.priority = std::atoll(in.Word().c_str() + 1);
  return dim;
}

Sharding ParseSharding(TextCursor& in) {
  Sharding sharding;
  in.Expect("<");
  if (in.Accept("@")) {
    sharding.mesh = in.Peek() == '"' ? in.Quoted() : in.Name();
  } else {
    in.Expect("mesh");
    sharding.inlined_mesh = ParseMesh(in);
  }
  in.Expect(",");
  in.Expect("[");
  while (in.Peek() == '{') {
    sharding.dims.push_back(ParseDimSharding(in));
    if (!in.Accept(",")) break;
  }
  in.Expect("]");
  while (in.Accept(",")) {
    const bool replicated = in.Accept("replicated");
    if (!replicated) in.Expect("unreduced");
    in.Expect("=");
    (replicated ? sharding.replicated : sharding.unreduced) = ParseAxes(in);
  }
  in.Expect(">");
  return sharding;
}

// <name = value, ...>; lists of integers become Ints.
Attribute ParseParameters(TextCursor& in) {
  AttributeList list;
  in.Expect("<");
  while (in.ok() && in.Peek() != '>') {
    std::string name = in.Word();
    in.Expect("=");
    Attribute value;
    if (in.Accept("[")) {
      Ints ints;
      while (in.ok() && in.Peek() != ']') {
        ints.push_back(in.Integer());
        if (!in.Accept(",")) break;
      }
      in.Expect("]");
      value.value = std::move(ints);
    } else {
      value = ParseAttribute(in);
    }
    list.push_back({std::move(name), std::move(value)});
    if (!in.Accept(",")) break;
  }
  in.Expect(">");
  return {std::move(list)};
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

Attribute ParseConv(TextCursor& in) {
  AttributeList list;
  in.Expect("<");
  ParseConvSide(in, "input", list);
  in.Expect("x");
  ParseConvSide(in, "kernel", list);
  in.Expect("->");
  ParseConvSide(in, "output", list);
  in.Expect(">");
  return {std::move(list)};
}

Attribute ParseDialectAttribute(TextCursor& in) {
  const std::string name = in.Word();
  if (name == "stablehlo.conv") return ParseConv(in);
  if (name == "sdy.sharding") return {ParseSharding(in)};
  if (name == "sdy.mesh") {
    Sharding holder;
    holder.inlined_mesh = ParseMesh(in);
    return {std::move(holder)};
  }
  if (name == "sdy.sharding_per_value") {
    std::vector<Attribute> list;
    in.Expect("<");
    in.Expect("[");
    while (in.ok() && in.Peek() == '<') {
      list.push_back({ParseSharding(in)});
      if (!in.Accept(",")) break;
    }
    in.Expect("]");
    in.Expect(">");
    return {std::move(list)};
  }
  if (name == "stablehlo" || name == "sdy" || name == "stablehlo.result_accuracy_mode") {
    // <mnemonic VALUE>, <VALUE>, or sdy's <manual_axes{"x"}>
    in.Expect("<");
    std::string value = in.Word();
    if (value == "manual_axes") {
      std::vector<Attribute> list;
      for (AxisRef& axis : ParseAxes(in)) list.push_back({std::move(axis.name)});
      in.Expect(">");
      return {std::move(list)};
    }
    if (in.Peek() != '>') value = in.Word();
    in.Expect(">");
    return {std::move(value)};
  }
  if (name.starts_with("stablehlo.")) return ParseParameters(in);
  if (in.Peek() == '<') in.SkipBrackets('<', '>');
  return {};
}

}  // namespace

Type ParseType(TextCursor& in) {
  Type type;
  if (in.depth() > 64) in.Fail("too deep a nest of types");
  if (!in.ok()) return type;
  TextCursor::Nested nested(in);
  if (in.Accept("tensor")) return ParseTensor(in);
  if (in.Accept("!stablehlo.token")) return Type::Token();
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
  return list;
}

}  // namespace PJRT_PLUGIN_NS::program
