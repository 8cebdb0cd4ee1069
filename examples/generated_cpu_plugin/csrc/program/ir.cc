#include "program/ir.h"

#include <cstring>

#include "program/op_table.h"

namespace PJRT_PLUGIN_NS::program {

std::optional<DType> DTypeByName(std::string_view name) {
  for (size_t i = 0; i < backend::kNumDTypes; ++i)
    if (backend::DTypeName(DType(i)) == name) return DType(i);
  return std::nullopt;
}

int64_t Literal::IntAt(int64_t i) const {
  const size_t width = backend::DTypeBytes(type.dtype);
  const std::byte* at = bytes() + (splat ? 0 : size_t(i) * width);
  const bool is_signed = backend::IsSignedInt(type.dtype);
  auto read = [at]<typename Signed>(Signed value, bool keep_sign) {
    std::memcpy(&value, at, sizeof(value));
    return keep_sign ? int64_t{value} : int64_t(std::make_unsigned_t<Signed>(value));
  };
  switch (width) {
    case 1:
      return read(int8_t{}, is_signed);
    case 2:
      return read(int16_t{}, is_signed);
    case 4:
      return read(int32_t{}, is_signed);
    default:
      return read(int64_t{}, is_signed);
  }
}

std::vector<std::byte> Literal::Dense() const {
  if (!splat) return *data;
  const size_t count = size_t(type.num_elements());
  std::vector<std::byte> dense;
  dense.reserve(count * data->size());
  for (size_t i = 0; i < count; ++i) dense.insert(dense.end(), data->begin(), data->end());
  return dense;
}

bool operator==(const Literal& a, const Literal& b) {
  return a.type == b.type && a.splat == b.splat && (a.data == b.data || *a.data == *b.data);
}

bool operator==(const Attribute& a, const Attribute& b) {
  return a.dtype == b.dtype && a.value == b.value;
}

std::string_view OpName(OpCode code) { return InfoOf(code).name; }

const Attribute* Op::Find(std::string_view name) const {
  for (const NamedAttribute& attribute : attributes)
    if (attribute.name == name) return &attribute.value;
  return nullptr;
}

std::vector<Ints> Op::IntRows(std::string_view name) const {
  std::vector<Ints> rows;
  for (const Attribute& row : std::get<std::vector<Attribute>>(Find(name)->value))
    rows.push_back(std::get<Ints>(row.value));
  return rows;
}

Function* Module::Find(std::string_view function) const {
  for (const auto& one : functions)
    if (one->name == function) return one.get();
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::program
