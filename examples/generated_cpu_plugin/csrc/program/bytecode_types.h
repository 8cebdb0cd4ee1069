#ifndef PROGRAM_BYTECODE_TYPES_H_
#define PROGRAM_BYTECODE_TYPES_H_

// Types of an MLIR bytecode file, decoded when first asked for. VHLO's types and MLIR's own, which
// stand beside Shardy's operations, become the same Type.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/status.h"
#include "generated/config.h"
#include "program/bytecode_container.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// Bounds what a small file can be unfolded to: entries refer to each other, so that copies can grow
// exponentially.
class Budget {
 public:
  explicit Budget(size_t file_size) : left_((size_t{64} << 20) + 64 * file_size) {}
  // Takes `bytes`; fails `in` when they are spent.
  void Charge(size_t bytes, Cursor& in) {
    if (bytes > left_) {
      in.Fail("types and attributes that unfold to many times their size");
      bytes = left_;
    }
    left_ -= bytes;
  }

 private:
  size_t left_;
};

class TypeDecoder {
 public:
  // A type entry: of a value, or of the elements of a tensor.
  struct Decoded {
    enum State : uint8_t { kUnread, kReading, kRead } state = kUnread;
    bool is_element = false;
    std::optional<DType> dtype;  // of an element, when there is one for it
    std::string spelling;        // of an element: "tf32"
    Type type;                   // of a value
    size_t bytes = 0;            // what a copy of `type` takes
  };

  // `file`, `budget` and `status` outlive the decoder.
  TypeDecoder(const Container& file, Budget* budget, backend::Status* status)
      : file_(file), budget_(*budget), status_(*status), entries_(file.types.size()) {}

  // Any entry. `in`: where the index was read, for messages.
  const Decoded& Get(uint64_t index, Cursor& in);
  // The type of a value.
  const Type& ValueType(uint64_t index, Cursor& in);
  // The bits of an integer or float element; 0 when there is none.
  static size_t ElementBits(const Decoded& element);

 private:
  void Decode(Decoded& out, const Container::Entry& entry);
  void DecodeVhlo(Decoded& out, Cursor& in);
  void DecodeBuiltin(Decoded& out, Cursor& in);
  void DecodeTensor(Decoded& out, Cursor& in);
  void DecodeList(Decoded& out, Cursor& in, TypeKind kind);
  void SetElement(Decoded& out, std::string spelling);
  void Unsupported(std::string_view what);

  const Container& file_;
  Budget& budget_;
  backend::Status& status_;
  std::vector<Decoded> entries_;
  int depth_ = 0;
};

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_BYTECODE_TYPES_H_
