#ifndef PROGRAM_TEXT_LOCATIONS_H_
#define PROGRAM_TEXT_LOCATIONS_H_

// Source locations in text: loc("jit(f)/add"(callsite("f.py":1:2 at #loc3))).

#include <memory>
#include <string>
#include <unordered_map>

#include "generated/config.h"
#include "program/ir.h"
#include "program/text_cursor.h"

namespace PJRT_PLUGIN_NS::program {

class TextLocations {
 public:
  TextLocations();

  // The location that comes next, or the unknown one when none does. Never null.
  std::shared_ptr<const Location> Read(TextCursor& in);

 private:
  // What stands between the parentheses of loc(...), from the definition of an alias: such are read
  // once. Of what is too deep, or contains itself, nothing is known.
  std::shared_ptr<const Location> ReadOne(TextCursor& in);
  std::shared_ptr<const Location> ReadAlias(TextCursor& in);
  std::shared_ptr<const Location> ReadFused(TextCursor& in);
  std::shared_ptr<const Location> ReadNamed(TextCursor& in);

  std::shared_ptr<const Location> unknown_;
  std::unordered_map<std::string, std::shared_ptr<const Location>> aliases_;
  int depth_ = 0;
};

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TEXT_LOCATIONS_H_
