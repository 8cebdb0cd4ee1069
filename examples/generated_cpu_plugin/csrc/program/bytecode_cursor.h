#ifndef PROGRAM_BYTECODE_CURSOR_H_
#define PROGRAM_BYTECODE_CURSOR_H_

// Reads the primitives of MLIR bytecode from a piece of a file, and never beyond it.
//
// Failure is sticky and shared: the first one is kept in a Status that all cursors of a file point
// to, after it every read gives zero, and counts are bounded by the bytes left. So a reader reads
// on and looks at the status where it matters: before it allocates, loops or follows an index.
//
//   Status status;
//   Cursor in(bytes, 0, &status);
//   for (size_t n = in.Count(); n > 0; --n) in.Varint();
//   if (!status.ok()) return status;     // "malformed MLIR bytecode at byte 17: ..."

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::program {

class Cursor {
 public:
  struct Flagged {
    uint64_t value;
    bool flag;
  };

  Cursor() = default;
  // `offset`: where `bytes` begin in the file. `status` outlives the cursor.
  Cursor(std::string_view bytes, size_t offset, backend::Status* status)
      : bytes_(bytes), offset_(offset), status_(status) {}

  bool ok() const { return status_->ok(); }
  bool done() const { return position_ == bytes_.size() || !ok(); }
  size_t left() const { return bytes_.size() - position_; }
  // Position in the file.
  size_t offset() const { return offset_ + position_; }

  uint8_t Byte();
  // Prefix varint: the trailing zero bits of the first byte count the bytes that follow it.
  uint64_t Varint() {
    if (position_ < bytes_.size() && (bytes_[position_] & 1) && ok())  // nearly all are one byte
      return uint8_t(bytes_[position_++]) >> 1;
    return LongVarint();
  }
  int64_t SignedVarint() {
    const uint64_t v = Varint();
    return int64_t(v >> 1) ^ -int64_t(v & 1);
  }
  Flagged FlaggedVarint() {
    const uint64_t v = Varint();
    return {v >> 1, (v & 1) != 0};
  }
  // A count of items that each take `bytes_each` or more of what is left.
  size_t Count(size_t bytes_each = 1) { return Checked(Varint(), bytes_each); }
  size_t Checked(uint64_t count, size_t bytes_each = 1);
  // An index into a table of `size` entries called `what`.
  size_t Index(size_t size, std::string_view what) { return CheckedIndex(Varint(), size, what); }
  size_t CheckedIndex(uint64_t index, size_t size, std::string_view what);
  // The next `size` bytes.
  std::string_view Bytes(uint64_t size);
  // A varint size, then so many bytes.
  std::string_view Blob() { return Bytes(Varint()); }
  // Up to a NUL, which is skipped.
  std::string_view CString();
  // The next `size` bytes as a cursor of their own.
  Cursor Sub(uint64_t size);
  // Skips padding so that the next byte lies at a multiple of `alignment` in the file.
  void Align(uint64_t alignment);

  // Ends reading: "malformed MLIR bytecode at byte <offset>: <what>". Only the first call of a file
  // counts.
  void Fail(std::string_view what);
  // The same for what is no damage but not read here: UNIMPLEMENTED, with this text alone.
  void Unsupported(std::string_view what);
  // Fails unless everything was read; `what` says what the bytes are.
  void ExpectDone(std::string_view what);

 private:
  uint64_t LongVarint();

  std::string_view bytes_;
  size_t position_ = 0;
  size_t offset_ = 0;
  backend::Status* status_ = nullptr;
};

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_BYTECODE_CURSOR_H_
