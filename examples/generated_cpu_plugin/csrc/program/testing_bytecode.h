#ifndef PROGRAM_TESTING_BYTECODE_H_
#define PROGRAM_TESTING_BYTECODE_H_

// Writes MLIR bytecode in tests, valid or hostile, piece by piece.
//
//   BytecodeWriter w;
//   uint64_t f32 = w.Type("vhlo", {4});             // codes as VHLO numbers them
//   uint64_t tensor = w.Type("vhlo", {20, 0, f32}); // rank 0
//   ReadBytecode(w.File(ir));

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::program {

inline std::string Varint(uint64_t value) {
  if (value < 128) return std::string(1, char(value << 1 | 1));
  std::string bytes(9, '\0');  // the long form serves for all
  for (int i = 0; i < 8; ++i) bytes[size_t(i) + 1] = char(value >> (8 * i));
  return bytes;
}
inline uint64_t Zigzag(int64_t value) { return uint64_t(value) << 1 ^ uint64_t(value >> 63); }
inline uint64_t Flagged(uint64_t value, bool flag) { return value << 1 | uint64_t(flag); }

inline std::string Varints(std::initializer_list<uint64_t> values) {
  std::string bytes;
  for (uint64_t value : values) bytes += Varint(value);
  return bytes;
}

class BytecodeWriter {
 public:
  uint64_t String(const std::string& text) {
    strings_.push_back(text);
    return strings_.size() - 1;
  }
  // An entry of varints, then `tail`. Gives its index.
  uint64_t Attribute(const std::string& dialect, std::initializer_list<uint64_t> values,
                     const std::string& tail = "") {
    attributes_.emplace_back(dialect, Varints(values) + tail);
    return attributes_.size() - 1;
  }
  uint64_t Type(const std::string& dialect, std::initializer_list<uint64_t> values,
                const std::string& tail = "") {
    types_.emplace_back(dialect, Varints(values) + tail);
    return types_.size() - 1;
  }
  // "builtin.module" or "vhlo.add_v1".
  uint64_t OpName(const std::string& name) {
    op_names_.push_back(name);
    return op_names_.size() - 1;
  }
  uint64_t Properties(std::initializer_list<uint64_t> values) {
    properties_.push_back(Varints(values));
    return properties_.size() - 1;
  }

  // The file with this IR section.
  std::string File(const std::string& ir) {
    std::string dialects = Varint(3);
    for (const char* name : {"builtin", "vhlo", "sdy"})
      dialects += Varint(Flagged(String(name), false));
    dialects += Varint(op_names_.size());
    for (const std::string& name : op_names_) {
      const size_t dot = name.find('.');
      dialects += Varints({Dialect(name.substr(0, dot)), 1}) +
                  Varint(Flagged(String(name.substr(dot + 1)), true));
    }
    std::string offsets = Varints({attributes_.size(), types_.size()});
    std::string entries;
    for (const auto& table : {attributes_, types_}) {
      for (const auto& [dialect, bytes] : table) {
        offsets += Varints({Dialect(dialect), 1, Flagged(bytes.size(), true)});
        entries += bytes;
      }
    }
    std::string sizes;
    std::string texts;
    for (size_t i = strings_.size(); i-- > 0;) sizes += Varint(strings_[i].size() + 1);
    for (const std::string& text : strings_) texts += text + '\0';
    std::string properties = Varint(properties_.size());
    for (const std::string& one : properties_) properties += Varint(one.size()) + one;
    return "ML\xefR" + Varint(6) + std::string("test\0", 5) + Section(1, dialects) +
           Section(3, offsets) + Section(2, entries) + Section(4, ir) +
           Section(0, Varint(strings_.size()) + sizes + texts) + Section(8, properties);
  }

  static std::string Section(uint8_t id, const std::string& data) {
    return std::string(1, char(id)) + Varint(data.size()) + data;
  }

 private:
  using Entries = std::vector<std::pair<std::string, std::string>>;

  static uint64_t Dialect(const std::string& name) {
    return name == "builtin" ? 0 : name == "vhlo" ? 1 : 2;
  }

  std::vector<std::string> strings_;
  Entries attributes_;
  Entries types_;
  std::vector<std::string> op_names_;
  std::vector<std::string> properties_;
};

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TESTING_BYTECODE_H_
