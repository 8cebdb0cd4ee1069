#include "program/text_locations.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace PJRT_PLUGIN_NS::program {
namespace {

constexpr int kMaxTextLocationDepth = 256;

int PositionNumber(TextCursor& in) {
  return int(std::clamp<int64_t>(in.Integer(), 0, std::numeric_limits<int>::max()));
}

}  // namespace

TextLocations::TextLocations() : unknown_(std::make_shared<const Location>()) {}

std::shared_ptr<const Location> TextLocations::Read(TextCursor& in) {
  if (!in.Accept("loc")) return unknown_;
  in.Expect("(");
  auto location = ReadOne(in);
  in.Expect(")");
  return location;
}

std::shared_ptr<const Location> TextLocations::ReadOne(TextCursor& in) {
  if (depth_ >= kMaxTextLocationDepth) in.Fail("over 256 locations in one another");
  if (!in.ok()) return unknown_;
  ++depth_;
  auto location = unknown_;
  if (in.Accept("#")) {
    location = ReadAlias(in);
  } else if (in.Accept("unknown")) {
    // nothing follows
  } else if (in.Accept("callsite")) {
    in.Expect("(");
    location = ReadOne(in);
    in.Expect("at");
    auto caller = ReadOne(in);
    in.Expect(")");
    if (location->file.empty()) location = std::move(caller);
  } else if (in.Accept("fused")) {
    location = ReadFused(in);
  } else if (in.Peek() == '"') {
    location = ReadNamed(in);
  } else {
    in.Fail("a location is missing");
  }
  --depth_;
  return location;
}

std::shared_ptr<const Location> TextLocations::ReadAlias(TextCursor& in) {
  std::string name = "#" + in.Word();
  if (const auto found = aliases_.find(name); found != aliases_.end()) return found->second;
  std::optional<TextCursor> definition = in.Definition(name);
  if (!definition) in.Fail("location " + name + " is defined nowhere");
  // Deeper ones are dropped: they are a hint.
  if (!in.ok() || depth_ >= kMaxTextLocationDepth - 1) return unknown_;
  aliases_[name] = unknown_;
  auto location = Read(*definition);
  aliases_[std::move(name)] = location;
  return location;
}

// fused<metadata>[one, another]: the first that has a position.
std::shared_ptr<const Location> TextLocations::ReadFused(TextCursor& in) {
  auto first = unknown_;
  if (in.Peek() == '<') in.SkipBrackets('<', '>');
  in.Expect("[");
  do {
    auto one = ReadOne(in);
    if (first->file.empty()) first = std::move(one);
  } while (in.ok() && in.Accept(","));
  in.Expect("]");
  return first;
}

// "file":line:column, with "to" and an end; "name"; "name"(location).
std::shared_ptr<const Location> TextLocations::ReadNamed(TextCursor& in) {
  Location location;
  std::string text = in.Quoted();
  if (in.Accept(":")) {
    location.file = std::move(text);
    location.line = PositionNumber(in);
    if (in.Accept(":")) location.column = PositionNumber(in);
    if (in.Accept("to")) {
      if (in.Peek() != ':') PositionNumber(in);
      if (in.Accept(":")) PositionNumber(in);
    }
  } else {
    if (in.Accept("(")) {
      location = *ReadOne(in);
      in.Expect(")");
    }
    if (!text.empty()) location.name = std::move(text);
  }
  in.Charge(location.file.size() + location.name.size());
  return std::make_shared<const Location>(std::move(location));
}

}  // namespace PJRT_PLUGIN_NS::program
