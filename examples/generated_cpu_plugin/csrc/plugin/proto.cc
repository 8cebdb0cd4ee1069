#include "plugin/proto.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(char(value | 0x80));
  out->push_back(char(value));
}

void AppendTag(uint32_t field, uint32_t wire, std::string* out) {
  AppendVarint(uint64_t(field) << 3 | wire, out);
}

}  // namespace

bool ProtoReader::Fail() {
  ok_ = false;
  rest_ = {};
  return false;
}

bool ProtoReader::ReadVarint(uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
    const uint8_t byte = uint8_t(rest_.front());
    rest_.remove_prefix(1);
    if (shift < 64) *value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return Fail();
}

bool ProtoReader::ReadFixed(size_t size) {
  if (rest_.size() < size) return Fail();
  number_ = 0;
  for (size_t i = 0; i < size; ++i) number_ |= uint64_t(uint8_t(rest_[i])) << (8 * i);
  rest_.remove_prefix(size);
  return true;
}

bool ProtoReader::Next() {
  if (!ok_ || rest_.empty()) return false;
  uint64_t tag;
  if (!ReadVarint(&tag)) return false;
  if (tag >> 3 == 0 || tag >> 32 != 0) return Fail();
  field_ = uint32_t(tag >> 3);
  wire_ = uint32_t(tag & 7);
  number_ = 0;
  bytes_ = {};
  switch (wire_) {
    case 0:
      return ReadVarint(&number_);
    case 1:
      return ReadFixed(8);
    case 2: {
      uint64_t size;
      if (!ReadVarint(&size)) return false;
      if (size > rest_.size()) return Fail();
      bytes_ = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return true;
    }
    case 5:
      return ReadFixed(4);
    default:  // groups are long gone
      return Fail();
  }
}

void ProtoReader::AppendTo(std::vector<int64_t>* values) {
  if (is_varint()) {
    values->push_back(int64_t(number_));
    return;
  }
  if (!is_bytes()) return;
  ProtoReader packed(bytes_);
  while (!packed.rest_.empty()) {
    uint64_t value;
    if (!packed.ReadVarint(&value)) {
      Fail();
      return;
    }
    values->push_back(int64_t(value));
  }
}

void PutVarint(uint32_t field, int64_t value, std::string* out) {
  AppendTag(field, 0, out);
  AppendVarint(uint64_t(value), out);
}

void PutBytes(uint32_t field, std::string_view bytes, std::string* out) {
  AppendTag(field, 2, out);
  AppendVarint(bytes.size(), out);
  out->append(bytes);
}

void PutPacked(uint32_t field, std::span<const int64_t> values, std::string* out) {
  std::string packed;
  for (int64_t value : values) AppendVarint(uint64_t(value), &packed);
  PutBytes(field, packed, out);
}

}  // namespace PJRT_PLUGIN_NS::plugin
