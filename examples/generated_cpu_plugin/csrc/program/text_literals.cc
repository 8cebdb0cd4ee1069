#include "program/text_literals.h"

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/bytecode_literal.h"
#include "program/float_bits.h"
#include "program/text_attributes.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// Elements narrower than a byte: those of signed integers are sign-extended, the upper bits of
// others zero.
uint64_t Narrowed(DType dtype, uint64_t bits) {
  const int unused = 64 - int(backend::DTypeBits(dtype));
  if (unused <= 56) return bits;
  return backend::IsSignedInt(dtype) ? uint64_t(int64_t(bits << unused) >> unused)
                                     : bits << unused >> unused;
}

// The bits of a number of the type; hexadecimal numbers are bits.
uint64_t BitsOf(DType dtype, const std::string& token, TextCursor& in) {
  const char* begin = token.data();
  const char* end = begin + token.size();
  const bool is_hex = token.starts_with("0x");
  const bool is_negative = token.starts_with("-");
  uint64_t bits = 0;
  std::from_chars_result read{end, std::errc()};
  if (is_hex) {
    read = std::from_chars(begin + 2, end, bits, 16);
  } else if (token == "true" || token == "false") {
    bits = token == "true";
  } else if (backend::IsFloat(dtype)) {
    double value = 0;
    read = std::from_chars(begin, end, value);
    bits = FloatToBits(dtype, value);
  } else if (is_negative) {
    int64_t value = 0;
    read = std::from_chars(begin, end, value);
    bits = uint64_t(value);
  } else {
    read = std::from_chars(begin, end, bits);
  }
  const bool is_read = read.ptr == end && read.ec == std::errc();
  const int width = int(backend::DTypeBits(dtype));
  const bool fits = width >= 64 || (is_negative && !is_hex && !backend::IsFloat(dtype)
                                        ? int64_t(bits) >= -(int64_t{1} << (width - 1))
                                        : bits >> width == 0);
  if (!is_read || !fits) in.Fail(token + " is no " + std::string(backend::DTypeName(dtype)));
  return dtype == DType::kPred ? uint64_t(bits != 0) : Narrowed(dtype, bits);
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

// "0x0123", as bytes.
std::string FromHex(std::string_view text, TextCursor& in) {
  std::string bytes;
  if (!text.starts_with("0x") || text.size() % 2 != 0) in.Fail("a constant's bytes are no 0x...");
  for (size_t i = 2; i + 1 < text.size(); i += 2) {
    unsigned value = 0;
    if (std::from_chars(text.data() + i, text.data() + i + 2, value, 16).ptr != text.data() + i + 2)
      in.Fail("a constant's bytes are not hexadecimal");
    bytes += char(value);
  }
  return bytes;
}

}  // namespace

Attribute ParseDense(TextCursor& in) {
  in.Expect("<");
  std::vector<std::string> tokens;
  std::optional<std::string> hex;
  if (in.Peek() == '"') {
    hex = FromHex(in.Quoted(), in);
  } else if (in.Peek() != '>') {
    ParseElements(in, tokens, 0);
  }
  in.Expect(">");
  in.Expect(":");
  // A layout is of the type index, which is no element of a program's tensors.
  TextCursor ahead = in;
  const bool is_index = ahead.Accept("tensor") && ahead.AcceptIndexTensor();
  if (is_index) in = ahead;
  Literal literal;
  literal.type = is_index ? Type::Tensor(DType::kS64, {int64_t(tokens.size())}) : ParseType(in);
  if (in.ok() && (!literal.type.is_tensor() || !literal.type.is_static()))
    in.Fail("a constant of the type " + ToString(literal.type));
  if (!in.ok()) return {};
  if (hex) {
    // As in bytecode.
    Cursor raw(*hex, 0, &in.status());
    return {DecodeLiteral(literal.type, *hex, raw)};
  }
  const DType dtype = literal.type.dtype;
  const bool is_complex = backend::IsComplex(dtype);
  const DType part = !is_complex ? dtype : dtype == DType::kC64 ? DType::kF32 : DType::kF64;
  const size_t width = backend::DTypeBytes(part);
  std::vector<std::byte> bytes;
  for (const std::string& token : tokens) {
    const uint64_t bits = BitsOf(part, token, in);
    const auto* at = reinterpret_cast<const std::byte*>(&bits);  // little-endian
    bytes.insert(bytes.end(), at, at + width);
  }
  const size_t whole = backend::DTypeBytes(dtype);
  const size_t count = size_t(literal.type.num_elements());
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

}  // namespace PJRT_PLUGIN_NS::program
