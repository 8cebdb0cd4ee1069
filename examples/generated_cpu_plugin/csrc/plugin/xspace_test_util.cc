#include "plugin/xspace_test_util.h"

#include "plugin/proto.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

struct Metadata {
  std::string name;
  std::vector<std::string_view> stats;
};
using MetadataMap = std::map<uint64_t, Metadata>;

void AddMetadata(std::string_view entry, MetadataMap* map) {
  uint64_t key = 0;
  Metadata metadata;
  for (ProtoReader reader(entry); reader.Next();) {
    if (reader.field() == 1) key = reader.varint();
    if (reader.field() != 2) continue;
    for (ProtoReader value(reader.bytes()); value.Next();) {
      if (value.field() == 2) metadata.name = value.bytes();
      if (value.field() == 5) metadata.stats.push_back(value.bytes());
    }
  }
  (*map)[key] = metadata;
}

void AddStat(std::string_view stat, const MetadataMap& names,
             std::map<std::string, std::string>* stats) {
  uint64_t id = 0;
  std::string value;
  for (ProtoReader reader(stat); reader.Next();) {
    if (reader.field() == 1) id = reader.varint();
    if (reader.field() == 4) value = std::to_string(int64_t(reader.varint()));
    if (reader.field() == 5) value = reader.bytes();
  }
  (*stats)[names.at(id).name] = value;
}

ReadEvent ParseEvent(std::string_view bytes, const MetadataMap& kinds, const MetadataMap& names) {
  ReadEvent event;
  for (ProtoReader reader(bytes); reader.Next();) {
    if (reader.field() == 1) {
      const Metadata& kind = kinds.at(reader.varint());
      event.name = kind.name;
      for (std::string_view stat : kind.stats) AddStat(stat, names, &event.stats);
    }
    if (reader.field() == 2) event.offset_ps = int64_t(reader.varint());
    if (reader.field() == 3) event.duration_ps = int64_t(reader.varint());
    if (reader.field() == 4) AddStat(reader.bytes(), names, &event.stats);
  }
  return event;
}

ReadLine ParseLine(std::string_view bytes, const MetadataMap& kinds, const MetadataMap& names) {
  ReadLine line;
  for (ProtoReader reader(bytes); reader.Next();) {
    if (reader.field() == 1) line.id = int64_t(reader.varint());
    if (reader.field() == 2) line.name = reader.bytes();
    if (reader.field() == 3) line.timestamp_ns = int64_t(reader.varint());
    if (reader.field() == 4) line.events.push_back(ParseEvent(reader.bytes(), kinds, names));
  }
  return line;
}

ReadPlane ParsePlane(std::string_view bytes) {
  ReadPlane plane;
  MetadataMap kinds, names;
  std::vector<std::string_view> lines, stats;
  for (ProtoReader reader(bytes); reader.Next();) {
    if (reader.field() == 1) plane.id = int64_t(reader.varint());
    if (reader.field() == 2) plane.name = reader.bytes();
    if (reader.field() == 3) lines.push_back(reader.bytes());
    if (reader.field() == 4) AddMetadata(reader.bytes(), &kinds);
    if (reader.field() == 5) AddMetadata(reader.bytes(), &names);
    if (reader.field() == 6) stats.push_back(reader.bytes());
  }
  for (std::string_view line : lines) plane.lines.push_back(ParseLine(line, kinds, names));
  for (std::string_view stat : stats) AddStat(stat, names, &plane.stats);
  return plane;
}

template <typename Named>
const Named* FindByName(const std::vector<Named>& all, std::string_view name) {
  for (const Named& one : all) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace

const ReadLine* ReadPlane::Find(std::string_view line) const { return FindByName(lines, line); }
const ReadPlane* ReadSpace::Find(std::string_view plane) const { return FindByName(planes, plane); }

ReadSpace ParseXSpace(std::string_view bytes) {
  ReadSpace space;
  for (ProtoReader reader(bytes); reader.Next();) {
    if (reader.field() == 1) space.planes.push_back(ParsePlane(reader.bytes()));
    if (reader.field() == 3) space.warnings.emplace_back(reader.bytes());
  }
  return space;
}

}  // namespace PJRT_PLUGIN_NS::plugin
