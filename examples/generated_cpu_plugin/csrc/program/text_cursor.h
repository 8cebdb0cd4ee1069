#ifndef PROGRAM_TEXT_CURSOR_H_
#define PROGRAM_TEXT_CURSOR_H_

// Reads the words of a program's text. Failure is sticky, as in bytecode_cursor.h: the first one is
// kept, with its line, and after it there is nothing more to read.
//
//   TextCursor in(text, &status);
//   in.Expect("tensor");
//   in.Expect("<");

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::program {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class TextCursor {
 public:
  // Both outlive the cursor.
  TextCursor(std::string_view text, backend::Status* status) : text_(text), status_(status) {}

  bool ok() const { return status_->ok(); }
  backend::Status& status() { return *status_; }
  // The next character that is no blank and in no comment; NUL at the end.
  char Peek();
  // Whether `token` comes next; then it is read.
  bool Accept(std::string_view token);
  void Expect(std::string_view token);
  // A letter or underscore, then letters, digits and _ $ . -
  std::string Word();
  // What follows % or ^ or @: also digits.
  std::string Name();
  std::string Quoted();
  // An integer, hexadecimal or decimal number, as it is written.
  std::string Number();
  int64_t Integer();
  // A dimension and the x after it: of 0xf32 the first two characters.
  int64_t Dimension();
  // <3xindex>, all of it.
  bool AcceptIndexTensor();
  // Reads up to the bracket that closes the `open` one which comes next.
  void SkipBrackets(char open, char close);
  void SkipLine();

  // How many Nested there are: readers of nested things bound their recursion by it.
  int depth() const { return depth_; }
  class Nested {
   public:
    explicit Nested(TextCursor& in) : in_(in) { ++in_.depth_; }
    ~Nested() { --in_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    TextCursor& in_;
  };

  // "malformed program text in line <n>: <what>, before '<text>'".
  void Fail(std::string_view what);

 private:
  template <typename Predicate>
  std::string While(Predicate predicate);

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
  backend::Status* status_;
};

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TEXT_CURSOR_H_
