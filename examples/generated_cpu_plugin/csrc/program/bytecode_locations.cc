// Source locations. MLIR nests them; a reader of an error wants the innermost position in a file,
// where the operation was written, and the outermost name, the framework's path to it.

#include <algorithm>
#include <limits>

#include "program/bytecode_attributes.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// Deeper positions are dropped: they are a hint.
constexpr int kMaxLocationDepth = 256;

enum LocationCode : uint64_t {
  kCallSite = 10,
  kFileLineColumn = 11,
  kFused = 12,
  kFusedWithMetadata = 13,
  kNamed = 14,
  kUnknown = 15,
  kFileRange = 22,
};

int Clamp(uint64_t value) {
  return int(std::min<uint64_t>(value, uint64_t(std::numeric_limits<int>::max())));
}

const std::shared_ptr<const Location>& Unknown() {
  static const auto unknown = std::make_shared<const Location>();
  return unknown;
}

}  // namespace

std::shared_ptr<const Location> AttributeDecoder::GetLocation(uint64_t index, Cursor& in) {
  const size_t i = in.CheckedIndex(index, locations_.size(), "attributes");
  if (!in.ok()) return Unknown();
  LocationEntry& entry = locations_[i];
  if (entry.state == kRead) return entry.location;
  if (location_depth_ >= kMaxLocationDepth) return Unknown();
  if (entry.state == kReading) {
    in.Fail("location " + std::to_string(i) + " contains itself");
    return Unknown();
  }
  entry.state = kReading;
  ++location_depth_;
  entry.location = DecodeLocation(file_.attributes[i]);
  --location_depth_;
  entry.state = kRead;
  return entry.location;
}

std::shared_ptr<const Location> AttributeDecoder::DecodeLocation(const Container::Entry& entry) {
  Cursor in = entry.data;
  if (entry.dialect != "builtin" || !entry.custom) return Unknown();
  switch (in.Varint()) {
    case kCallSite: {
      auto callee = GetLocation(in.Varint(), in);
      auto caller = GetLocation(in.Varint(), in);
      return callee->file.empty() ? caller : callee;
    }
    case kFileLineColumn: {
      Location location;
      location.file = String(in.Varint(), in);
      location.line = Clamp(in.Varint());
      location.column = Clamp(in.Varint());
      return std::make_shared<const Location>(std::move(location));
    }
    case kFusedWithMetadata:
    case kFused: {
      auto first = Unknown();
      for (size_t n = in.Count(); n > 0 && in.ok(); --n) {
        auto one = GetLocation(in.Varint(), in);
        if (first->file.empty()) first = one;
      }
      return first;
    }
    case kNamed: {
      Location location;
      std::string name = String(in.Varint(), in);
      location = *GetLocation(in.Varint(), in);
      budget_.Charge(location.file.size() + location.name.size(), in);
      if (!name.empty()) location.name = std::move(name);
      return std::make_shared<const Location>(std::move(location));
    }
    case kFileRange: {
      Location location;
      location.file = String(in.Varint(), in);
      // Line; line, column; or more, up to the end of the range.
      const size_t numbers = in.Count();
      if (numbers > 0) location.line = Clamp(in.Varint());
      if (numbers > 1) location.column = Clamp(in.Varint());
      return std::make_shared<const Location>(std::move(location));
    }
    default:
      return Unknown();
  }
}

}  // namespace PJRT_PLUGIN_NS::program
