#include "program/text_cursor.h"

#include <algorithm>
#include <charconv>

namespace PJRT_PLUGIN_NS::program {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsName(char c) { return IsLetter(c) || IsDigit(c) || c == '$' || c == '.' || c == '-'; }

// What definitions may be unfolded to, beside 64 times the text.
constexpr size_t kUnfolded = size_t{16} << 20;

}  // namespace

TextAliases::TextAliases(std::string_view text) : left_(kUnfolded + 64 * text.size()) {
  const auto skip = [&](size_t at, auto&& predicate) {
    while (at < text.size() && predicate(text[at])) ++at;
    return at;
  };
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  for (size_t line = 0; line < text.size();) {
    const size_t begin = skip(line, is_blank);
    if (begin < text.size() && (text[begin] == '#' || text[begin] == '!')) {
      const size_t end = skip(begin + 1, IsName);
      const size_t equals = skip(end, is_blank);
      if (equals < text.size() && text[equals] == '=')
        definitions_.emplace(text.substr(begin, end - begin), equals + 1);
    }
    line = std::min(text.find('\n', line), text.size() - 1) + 1;
  }
}

std::optional<size_t> TextAliases::Find(std::string_view name) const {
  const auto found = definitions_.find(name);
  if (found == definitions_.end()) return std::nullopt;
  return found->second;
}

bool TextAliases::Charge(size_t bytes) {
  const bool enough = bytes <= left_;
  left_ -= std::min(bytes, left_);
  return enough;
}

std::optional<TextCursor> TextCursor::Definition(std::string_view name) const {
  const std::optional<size_t> at = aliases_ == nullptr ? std::nullopt : aliases_->Find(name);
  if (!at) return std::nullopt;
  TextCursor definition = *this;
  definition.position_ = *at;
  return definition;
}

void TextCursor::Charge(const TextCursor& definition, const TextCursor& end) {
  Charge(64 + end.position_ - definition.position_);
}

void TextCursor::Charge(size_t bytes) {
  if (aliases_ != nullptr && !aliases_->Charge(bytes))
    Fail("names that unfold to many times the size of the program");
}

char TextCursor::Peek() {
  if (!ok()) return 0;
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '/' && text_.substr(position_).starts_with("//")) {
      SkipLine();
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++position_;
    } else {
      return c;
    }
  }
  return 0;
}

bool TextCursor::Accept(std::string_view token) {
  if (Peek() == 0 || !text_.substr(position_).starts_with(token)) return false;
  const size_t end = position_ + token.size();
  // A word does not end within another.
  if (IsLetter(token.front()) && IsLetter(token.back()) && end < text_.size() && IsName(text_[end]))
    return false;
  position_ = end;
  return true;
}

void TextCursor::Expect(std::string_view token) {
  if (!Accept(token)) Fail("'" + std::string(token) + "' is missing");
}

template <typename Predicate>
std::string TextCursor::While(Predicate predicate) {
  if (!ok()) return {};
  const size_t begin = position_;
  while (position_ < text_.size() && predicate(text_[position_])) ++position_;
  return std::string(text_.substr(begin, position_ - begin));
}

std::string TextCursor::Word() {
  if (!IsLetter(Peek())) Fail("a word is missing");
  return While(IsName);
}

std::string TextCursor::Name() {
  if (!IsName(Peek())) Fail("a name is missing");
  return While(IsName);
}

std::string TextCursor::Quoted() {
  std::string out;
  Expect("\"");
  while (ok() && position_ < text_.size() && text_[position_] != '"') {
    char c = text_[position_++];
    if (c == '\\' && position_ < text_.size()) {
      const std::string_view rest = text_.substr(position_);
      if (rest.size() >= 2 && IsHex(rest[0]) && IsHex(rest[1])) {
        unsigned value = 0;
        std::from_chars(rest.data(), rest.data() + 2, value, 16);
        c = char(value);
        position_ += 2;
      } else {
        c = rest[0] == 'n' ? '\n' : rest[0] == 't' ? '\t' : rest[0];
        ++position_;
      }
    }
    out += c;
  }
  if (position_ >= text_.size()) {
    Fail("a string without its closing quote");
  } else if (ok()) {
    ++position_;
  }
  return out;
}

std::string TextCursor::Number() {
  const char first = Peek();
  if (!IsDigit(first) && first != '-' && first != '+') Fail("a number is missing");
  if (!ok()) return "0";
  std::string number;
  if (!IsDigit(first)) {
    ++position_;
    if (first == '-') number = "-";
  }
  if (text_.substr(position_).starts_with("0x")) {
    position_ += 2;
    return number + "0x" + While(IsHex);
  }
  number += While(IsDigit);
  if (position_ >= text_.size() || text_[position_] != '.') return number;
  ++position_;
  number += "." + While(IsDigit);
  if (position_ < text_.size() && (text_[position_] == 'e' || text_[position_] == 'E')) {
    ++position_;
    number += "e";
    if (position_ < text_.size() && (text_[position_] == '-' || text_[position_] == '+'))
      if (text_[position_++] == '-') number += "-";
    number += While(IsDigit);
  }
  return number;
}

int64_t TextCursor::Integer() {
  const std::string number = Number();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) Fail("an integer is missing");
  return value;
}

int64_t TextCursor::Dimension() {
  if (!IsDigit(Peek())) Fail("a dimension is missing");
  const std::string digits = While(IsDigit);
  int64_t value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
    Fail("a dimension is out of range");
  if (Peek() == 'x') {
    ++position_;
  } else {
    Fail("'x' is missing");
  }
  return value;
}

bool TextCursor::AcceptIndexTensor() {
  if (Peek() != '<') return false;
  const size_t end = text_.find('>', position_);
  if (end == text_.npos || !text_.substr(0, end).ends_with("xindex")) return false;
  position_ = end + 1;
  return true;
}

void TextCursor::SkipBrackets(char open, char close) {
  int depth = 0;
  do {
    const char c = Peek();
    if (c == 0) return Fail("a closing bracket is missing");
    if (c == '"') {
      Quoted();
      continue;
    }
    depth += c == open ? 1 : c == close ? -1 : 0;
    ++position_;
  } while (depth > 0);
}

void TextCursor::SkipLine() { position_ = std::min(text_.find('\n', position_), text_.size()); }

std::string TextCursor::Line() const {
  const size_t at = std::min(position_, text_.size());
  return std::to_string(1 + std::count(text_.begin(), text_.begin() + std::ptrdiff_t(at), '\n'));
}

void TextCursor::Fail(std::string_view what) {
  if (!ok()) return;
  const size_t at = std::min(position_, text_.size());
  const std::string_view rest = text_.substr(at, text_.substr(at, 40).find('\n'));
  *status_ = backend::InvalidArgument("malformed program text in line " + Line() + ": " +
                                      std::string(what) + ", before '" +
                                      std::string(rest.substr(0, 40)) + "'");
}

void TextCursor::Unsupported(std::string_view what) {
  if (ok()) *status_ = backend::Unimplemented(std::string(what) + ", in line " + Line());
}

}  // namespace PJRT_PLUGIN_NS::program
