#ifndef PROGRAM_BYTECODE_CONTAINER_H_
#define PROGRAM_BYTECODE_CONTAINER_H_

// The outer form of an MLIR bytecode file: sections, strings, dialects and op names, and where each
// attribute, type and property blob lies. Nothing is decoded here; all views point into the file.
//
//   Status status;
//   Container file = ReadContainer(code, &status);
//   file.op_names[3]   -> {"vhlo", "add_v1"}

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/status.h"
#include "generated/config.h"
#include "program/bytecode_cursor.h"

namespace PJRT_PLUGIN_NS::program {

// The one version read here: what every producer writes for StableHLO 0.15.0 and later.
inline constexpr uint64_t kBytecodeVersion = 6;

// "ML\xefR": how every MLIR bytecode file begins.
bool IsBytecode(std::string_view code);

struct Container {
  struct OpName {
    std::string_view dialect;
    std::string_view name;   // without dialect
    bool registered = true;  // its properties are in the op's own form, not a dictionary
  };
  // An attribute or a type.
  struct Entry {
    std::string_view dialect;
    bool custom = true;  // in the dialect's own binary form; else assembly text
    Cursor data;
  };

  std::string_view producer;  // "StableHLO_v1.13.0"
  std::vector<std::string_view> strings;
  std::vector<std::string_view> dialects;
  std::vector<OpName> op_names;
  std::vector<Entry> attributes;
  std::vector<Entry> types;
  std::vector<Cursor> properties;
  Cursor ir;
};

// On failure `status` says what is wrong and at which byte; the result is then of no use.
Container ReadContainer(std::string_view code, backend::Status* status);

// The payload of the section that begins at `in`; `id` becomes its number.
Cursor ReadSection(Cursor& in, uint8_t* id);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_BYTECODE_CONTAINER_H_
