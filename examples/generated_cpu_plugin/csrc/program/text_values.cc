#include "program/text_values.h"

#include <utility>

namespace PJRT_PLUGIN_NS::program {

TextValues::Scope::~Scope() {
  for (; values_.defined_.size() > outer_; values_.defined_.pop_back())
    values_.values_.erase(values_.defined_.back());
}

void TextValues::Define(std::string name, Value* value, TextCursor& in) {
  if (!values_.emplace(name, value).second) return in.Fail("%" + name + " is defined twice");
  defined_.push_back(std::move(name));
}

Value* TextValues::Read(TextCursor& in) {
  in.Expect("%");
  std::string name = in.Name();
  if (in.Accept("#"))
    if (const int64_t index = in.Integer(); index != 0) name += "#" + std::to_string(index);
  const auto found = values_.find(name);
  if (found != values_.end() && in.ok()) return found->second;
  in.Fail("%" + name + " is used before it is defined");
  return nullptr;
}

std::vector<Value*> TextValues::ReadList(TextCursor& in) {
  std::vector<Value*> values;
  while (in.Peek() == '%') {
    values.push_back(Read(in));
    if (!in.Accept(",")) break;
  }
  return values;
}

}  // namespace PJRT_PLUGIN_NS::program
