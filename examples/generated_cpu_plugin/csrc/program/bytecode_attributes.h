#ifndef PROGRAM_BYTECODE_ATTRIBUTES_H_
#define PROGRAM_BYTECODE_ATTRIBUTES_H_

// Attributes and source locations of an MLIR bytecode file, decoded when first asked for. An
// attribute becomes the form of Attribute nearest to it; bytecode_normalize.h then gives it the
// form that its op declares.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/status.h"
#include "generated/config.h"
#include "program/bytecode_container.h"
#include "program/bytecode_types.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

class AttributeDecoder {
 public:
  // All outlive the decoder. `types` belongs to the same file.
  AttributeDecoder(const Container& file, TypeDecoder* types, Budget* budget)
      : file_(file),
        types_(*types),
        budget_(*budget),
        entries_(file.attributes.size()),
        locations_(file.attributes.size()) {}

  // The attribute `index`, valid as long as the decoder. Monostate for what no consumer reads:
  // affine maps, sharding rules, attributes of unknown dialects. `in`: where the index was read,
  // for messages.
  const Attribute& Get(uint64_t index, Cursor& in);
  // The same, to be kept.
  Attribute Copy(uint64_t index, Cursor& in);
  // The text of a string attribute or flat symbol.
  std::string String(uint64_t index, Cursor& in);
  // A dictionary.
  AttributeList Dictionary(uint64_t index, Cursor& in);
  // A source location: the innermost file position, the outermost name. Never null.
  std::shared_ptr<const Location> GetLocation(uint64_t index, Cursor& in);
  // An sdy.mesh's mesh, without its name.
  Mesh GetMesh(uint64_t index, Cursor& in);

 private:
  enum State : uint8_t { kUnread, kReading, kRead };
  struct Entry {
    State state = kUnread;
    Attribute attribute;
    size_t bytes = 0;  // what a copy takes, children included
  };
  struct LocationEntry {
    State state = kUnread;
    std::shared_ptr<const Location> location;
  };

  Attribute Decode(const Container::Entry& entry);
  Attribute DecodeBuiltin(Cursor& in);
  Attribute DecodeVhlo(Cursor& in);
  Attribute DecodeString(Cursor& in);
  Attribute DecodeArray(Cursor& in);
  Attribute DecodeDictionary(Cursor& in);
  Attribute DecodeFloat(Cursor& in);
  Attribute DecodeInteger(Cursor& in);
  Attribute DecodeDenseArray(Cursor& in);
  Attribute DecodeTensor(Cursor& in);
  Attribute DecodeType(Cursor& in);
  Ints DecodeInts(Cursor& in);

  // bytecode_sdy.cc
  Attribute DecodeSdy(Cursor& in);
  Cursor SdyEntry(uint64_t index, uint64_t code, Cursor& in);
  std::string SdyString(Cursor& in);
  AxisRef GetAxisRef(uint64_t index, Cursor& in);
  std::vector<AxisRef> GetAxisRefs(Cursor& in);
  DimSharding GetDimSharding(uint64_t index, Cursor& in);
  Sharding DecodeSharding(uint64_t code, Cursor& in);

  // bytecode_locations.cc
  std::shared_ptr<const Location> DecodeLocation(const Container::Entry& entry);

  const Container& file_;
  TypeDecoder& types_;
  Budget& budget_;
  std::vector<Entry> entries_;
  std::vector<LocationEntry> locations_;
  int depth_ = 0;
  int location_depth_ = 0;
};

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_BYTECODE_ATTRIBUTES_H_
