#ifndef PROGRAM_TEXT_VALUES_H_
#define PROGRAM_TEXT_VALUES_H_

// The names of a program's values: each is known from its definition to the end of its region.

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "generated/config.h"
#include "program/ir.h"
#include "program/text_cursor.h"

namespace PJRT_PLUGIN_NS::program {

class TextValues {
 public:
  // What is defined from here on is forgotten at the end of this.
  class Scope {
   public:
    explicit Scope(TextValues& values) : values_(values), outer_(values.defined_.size()) {}
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    TextValues& values_;
    size_t outer_;
  };

  // Fails `in` when the name is taken.
  void Define(std::string name, Value* value, TextCursor& in);
  // The value `%name` or `%name#1` that comes next in `in`, from its % on. Null after a failure.
  Value* Read(TextCursor& in);
  // %a, %b: as many as there are.
  std::vector<Value*> ReadList(TextCursor& in);

 private:
  std::unordered_map<std::string, Value*> values_;
  std::vector<std::string> defined_;
};

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TEXT_VALUES_H_
