#ifndef PLUGIN_PROTO_H_
#define PLUGIN_PROTO_H_

// The protocol buffer wire format, as much of it as compile options need: a reader that walks the
// fields of one message without copying, and a writer. Bytes come from outside: whatever they are,
// the reader stays inside of them.
//
//   ProtoReader reader(bytes);
//   while (reader.Next()) {
//     if (reader.field() == 4 && reader.is_varint()) num_replicas = reader.varint();
//   }
//   if (!reader.ok()) ...   // the bytes are no message

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::plugin {

class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : rest_(bytes) {}

  // Goes to the next field. False at the end, and where the bytes are no message.
  bool Next();
  bool ok() const { return ok_; }

  uint32_t field() const { return field_; }
  bool is_varint() const { return wire_ == 0; }
  bool is_fixed64() const { return wire_ == 1; }
  bool is_bytes() const { return wire_ == 2; }
  // An integer, bool or enum; the bits of a fixed64 or fixed32.
  uint64_t varint() const { return number_; }
  // A string, a message, or a packed list.
  std::string_view bytes() const { return bytes_; }
  // Appends the elements of a repeated integer field, packed or not.
  void AppendTo(std::vector<int64_t>* values);

 private:
  bool ReadVarint(uint64_t* value);
  bool ReadFixed(size_t size);
  bool Fail();

  std::string_view rest_;
  uint32_t field_ = 0;
  uint32_t wire_ = 0;
  uint64_t number_ = 0;
  std::string_view bytes_;
  bool ok_ = true;
};

void PutVarint(uint32_t field, int64_t value, std::string* out);
void PutBytes(uint32_t field, std::string_view bytes, std::string* out);
void PutPacked(uint32_t field, std::span<const int64_t> values, std::string* out);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_PROTO_H_
