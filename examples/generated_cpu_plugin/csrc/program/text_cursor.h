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
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::program {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Where a text defines what it names: "#loc3 = loc(...)", "!t = tensor<4xf32>". MLIR writes each
// definition on a line of its own, those of locations after their uses.
class TextAliases {
 public:
  // `text` outlives this.
  explicit TextAliases(std::string_view text);

  // Where the definition of "#loc3" or "!t" begins.
  std::optional<size_t> Find(std::string_view name) const;
  // Whether so much more may be unfolded: names stand for names, so that what they stand for can
  // grow exponentially.
  bool Charge(size_t bytes);

 private:
  std::unordered_map<std::string_view, size_t> definitions_;
  size_t left_;
};

class TextCursor {
 public:
  // All outlive the cursor. Without `aliases` there are none.
  TextCursor(std::string_view text, backend::Status* status, TextAliases* aliases = nullptr)
      : text_(text), aliases_(aliases), status_(status) {}

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
  // At the definition of the alias `name`; nothing when there is none.
  std::optional<TextCursor> Definition(std::string_view name) const;
  // To be called when a definition has been read from `definition`, as Definition returned it.
  void Charge(const TextCursor& definition, const TextCursor& end);
  void Charge(size_t bytes);

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
  // The same for what is no mistake but not read here: UNIMPLEMENTED, "<what>, in line <n>".
  void Unsupported(std::string_view what);

 private:
  template <typename Predicate>
  std::string While(Predicate predicate);
  std::string Line() const;

  std::string_view text_;
  TextAliases* aliases_ = nullptr;
  size_t position_ = 0;
  int depth_ = 0;
  backend::Status* status_;
};

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TEXT_CURSOR_H_
