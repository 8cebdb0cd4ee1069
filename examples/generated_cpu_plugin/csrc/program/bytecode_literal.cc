#include "program/bytecode_literal.h"

#include <bit>
#include <cstring>
#include <string>
#include <utility>

namespace PJRT_PLUGIN_NS::program {
namespace {

using Bytes = std::vector<std::byte>;

// The one byte ff is "all true". Otherwise as many bytes as eight to a byte make, unless that is
// also the number of elements: then it is one byte an element, which old writers used throughout
// and all use for one-element tensors.
Bytes UnpackBools(std::string_view raw, size_t count) {
  if (raw.size() == 1 && raw[0] == '\xff') return Bytes(1, std::byte{1});
  if (raw.size() == (count + 7) / 8 && raw.size() != count) {
    if (raw.size() == 1 && raw[0] == 0) return Bytes(1, std::byte{0});
    Bytes bools(count);
    for (size_t i = 0; i < count; ++i) bools[i] = std::byte(uint8_t(raw[i / 8]) >> (i % 8) & 1);
    return bools;
  }
  Bytes bools(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) bools[i] = std::byte(raw[i] != 0);
  return bools;
}

// Brings elements narrower than a byte to one form: signed integers sign-extended, upper bits of
// the others zero.
void NormalizeNarrow(Bytes& bytes, DType dtype) {
  const int unused = 8 - int(backend::DTypeBits(dtype));
  for (std::byte& b : bytes) {
    const uint8_t top = uint8_t(uint8_t(b) << unused);
    b = backend::IsSignedInt(dtype) ? std::byte(int8_t(top) >> unused) : std::byte(top >> unused);
  }
}

// Other than on disk, elements lie in memory in the machine's order.
void ToNativeOrder(Bytes& bytes, DType dtype) {
  if constexpr (std::endian::native == std::endian::big) {
    size_t width = backend::DTypeBytes(dtype);
    if (backend::IsComplex(dtype)) width /= 2;
    for (size_t i = 0; i + width <= bytes.size(); i += width)
      for (size_t j = 0; j < width / 2; ++j) std::swap(bytes[i + j], bytes[i + width - 1 - j]);
  } else {
    (void)bytes, (void)dtype;
  }
}

}  // namespace

Literal DecodeLiteral(const Type& type, std::string_view raw, Cursor& in) {
  Literal literal;
  literal.type = type;
  if (!in.ok()) return literal;
  if (!type.is_tensor() || !type.is_static()) {
    in.Fail("a constant of the type " + ToString(type));
    return literal;
  }
  const size_t count = size_t(type.num_elements());
  const size_t width = backend::DTypeBytes(type.dtype);
  Bytes bytes;
  if (type.dtype == DType::kPred) {
    bytes = UnpackBools(raw, count);
  } else {
    bytes.resize(raw.size());
    if (!raw.empty()) std::memcpy(bytes.data(), raw.data(), raw.size());
    ToNativeOrder(bytes, type.dtype);
    if (backend::DTypeBits(type.dtype) < 8) NormalizeNarrow(bytes, type.dtype);
  }
  if (count == 0) bytes.clear();
  literal.splat = count > 0 && bytes.size() == width;
  if (!literal.splat && (bytes.size() % width != 0 || bytes.size() / width != count)) {
    in.Fail(std::to_string(raw.size()) + " bytes for a constant of the type " + ToString(type));
    return literal;
  }
  literal.data = std::make_shared<const Bytes>(std::move(bytes));
  return literal;
}

}  // namespace PJRT_PLUGIN_NS::program
