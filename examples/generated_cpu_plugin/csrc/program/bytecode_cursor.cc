#include "program/bytecode_cursor.h"

#include <bit>

namespace PJRT_PLUGIN_NS::program {

uint8_t Cursor::Byte() {
  const std::string_view byte = Bytes(1);
  return byte.empty() ? 0 : uint8_t(byte[0]);
}

uint64_t Cursor::LongVarint() {
  const uint8_t first = Byte();
  const int more = first == 0 ? 8 : std::countr_zero(first);
  const std::string_view rest = Bytes(uint64_t(more));
  uint64_t value = 0;
  for (size_t i = rest.size(); i-- > 0;) value = value << 8 | uint8_t(rest[i]);
  if (first == 0) return value;
  return (value << 8 | first) >> (more + 1);
}

size_t Cursor::Checked(uint64_t count, size_t bytes_each) {
  if (count <= left() / bytes_each) return size_t(count);
  Fail("a count of " + std::to_string(count) + " items, but only " + std::to_string(left()) +
       " bytes follow");
  return 0;
}

size_t Cursor::CheckedIndex(uint64_t index, size_t size, std::string_view what) {
  if (index < size) return size_t(index);
  Fail("index " + std::to_string(index) + " into the " + std::to_string(size) + " " +
       std::string(what));
  return 0;
}

std::string_view Cursor::Bytes(uint64_t size) {
  if (!ok()) return {};
  if (size > left()) {
    Fail(std::to_string(size) + " bytes expected, but only " + std::to_string(left()) + " follow");
    return {};
  }
  const std::string_view bytes = bytes_.substr(position_, size_t(size));
  position_ += size_t(size);
  return bytes;
}

std::string_view Cursor::CString() {
  const size_t end = bytes_.find('\0', position_);
  if (end == bytes_.npos) {
    Fail("a string without its closing NUL");
    return {};
  }
  const std::string_view text = Bytes(end - position_);
  Bytes(1);
  return text;
}

Cursor Cursor::Sub(uint64_t size) {
  const size_t begin = offset();
  return Cursor(Bytes(size), begin, status_);
}

void Cursor::Align(uint64_t alignment) {
  if (!std::has_single_bit(alignment)) {
    Fail("an alignment of " + std::to_string(alignment) + ", which is no power of two");
    return;
  }
  while (ok() && offset() % alignment != 0)
    if (Byte() != 0xcb) Fail("a padding byte that is not 0xcb");
}

void Cursor::Fail(std::string_view what) {
  if (!ok()) return;
  *status_ = backend::InvalidArgument("malformed MLIR bytecode at byte " +
                                      std::to_string(offset()) + ": " + std::string(what));
}

void Cursor::Unsupported(std::string_view what) {
  if (ok()) *status_ = backend::Unimplemented(std::string(what));
}

void Cursor::ExpectDone(std::string_view what) {
  if (ok() && position_ != bytes_.size())
    Fail(std::to_string(left()) + " bytes too many in " + std::string(what));
}

}  // namespace PJRT_PLUGIN_NS::program
