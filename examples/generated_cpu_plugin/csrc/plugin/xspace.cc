#include "plugin/xspace.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "plugin/proto.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// Fields of the messages.
enum XSpaceField : uint32_t { kPlanes = 1, kWarnings = 3 };
enum XPlaneField : uint32_t {
  kPlaneId = 1,
  kPlaneName = 2,
  kPlaneLines = 3,
  kPlaneEventMetadata = 4,
  kPlaneStatMetadata = 5,
  kPlaneStats = 6
};
enum XLineField : uint32_t { kLineId = 1, kLineName = 2, kLineTimestampNs = 3, kLineEvents = 4 };
enum XEventField : uint32_t {
  kEventMetadataId = 1,
  kEventOffsetPs = 2,
  kEventDurationPs = 3,
  kEventStats = 4
};
enum XStatField : uint32_t { kStatMetadataId = 1, kStatInt64 = 4, kStatString = 5 };
enum MetadataField : uint32_t { kMetadataId = 1, kMetadataName = 2, kEventMetadataStats = 5 };
enum MapField : uint32_t { kMapKey = 1, kMapValue = 2 };

constexpr std::string_view kDroppedEvents = "dropped_traces";  // as tools know it
constexpr std::string_view kSource = "source";
constexpr int64_t kPsPerNs = 1000;

using Events = std::vector<Trace::Event>;

// Ids of one plane's metadata, given in the order of first use; 0 is none.
template <typename Key>
class Ids {
 public:
  int64_t Of(const Key& key) {
    return ids_.try_emplace(key, int64_t(ids_.size()) + 1).first->second;
  }
  const std::map<Key, int64_t>& all() const { return ids_; }

 private:
  std::map<Key, int64_t> ids_;
};

std::string NumberStat(int64_t id, int64_t value) {
  std::string stat;
  PutVarint(kStatMetadataId, id, &stat);
  PutVarint(kStatInt64, value, &stat);
  return stat;
}

void PutMapEntry(uint32_t field, int64_t key, std::string_view value, std::string* out) {
  std::string entry;
  PutVarint(kMapKey, key, &entry);
  PutBytes(kMapValue, value, &entry);
  PutBytes(field, entry, out);
}

void StartInOrder(Events* events) {
  std::ranges::stable_sort(*events, {}, &Trace::Event::end_ns);
  int64_t free_at = 0;
  for (Trace::Event& event : *events) {
    if (!event.in_order) continue;
    event.start_ns = std::max(event.start_ns, std::min(free_at, event.end_ns));
    free_at = std::max(free_at, event.end_ns);
  }
}

// Lines on which any two events nest or do not meet, as viewers want them: what overlaps goes to
// further ones.
std::vector<Events> SplitIntoLanes(Events events) {
  struct Lane {
    Events events;
    std::vector<int64_t> open;  // ends of what is still going on, the innermost last
  };
  std::ranges::stable_sort(events, [](const Trace::Event& a, const Trace::Event& b) {
    return std::tuple(a.start_ns, -a.end_ns) < std::tuple(b.start_ns, -b.end_ns);
  });
  std::vector<Lane> lanes;
  for (const Trace::Event& event : events) {
    auto fits = [&](Lane& lane) {
      while (!lane.open.empty() && lane.open.back() <= event.start_ns) lane.open.pop_back();
      return lane.open.empty() || event.end_ns <= lane.open.back();
    };
    auto lane = std::ranges::find_if(lanes, fits);
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), Lane());
    lane->events.push_back(event);
    lane->open.push_back(event.end_ns);
  }
  std::vector<Events> split;
  for (Lane& lane : lanes) split.push_back(std::move(lane.events));
  return split;
}

class PlaneWriter {
 public:
  explicit PlaneWriter(const Trace& trace) : trace_(trace) {}

  std::string Write(int device, std::map<std::pair<int64_t, uint32_t>, Events> lines) && {
    const bool is_host = device == TraceEvent::kHost;
    std::string plane;
    PutVarint(kPlaneId, is_host ? 0 : device, &plane);
    PutBytes(kPlaneName,
             is_host
                 ? "/host:CPU"
                 : "/device:CUSTOM:" + std::string(kPlatformName) + ":" + std::to_string(device),
             &plane);
    int64_t next_id = 1;
    for (auto& [line, events] : lines) {
      const std::string& name = trace_.strings()[line.second];
      StartInOrder(&events);
      int lane_number = 0;
      for (const Events& lane : SplitIntoLanes(std::move(events))) {
        const std::string suffix =
            ++lane_number == 1 ? "" : " (" + std::to_string(lane_number) + ")";
        PutBytes(kPlaneLines, Line(is_host ? line.first : next_id++, name + suffix, lane), &plane);
      }
    }
    if (trace_.dropped() != 0) {
      PutBytes(kPlaneStats, NumberStat(stats_.Of(std::string(kDroppedEvents)), trace_.dropped()),
               &plane);
    }
    PutMetadata(&plane);
    return plane;
  }

 private:
  std::string Line(int64_t id, std::string_view name, const Events& events) {
    std::string line;
    PutVarint(kLineId, id, &line);
    PutBytes(kLineName, name, &line);
    PutVarint(kLineTimestampNs, trace_.start_ns(), &line);
    for (const Trace::Event& event : events) {
      std::string message;
      PutVarint(kEventMetadataId, kinds_.Of({event.name, event.source}), &message);
      PutVarint(kEventOffsetPs, (event.start_ns - trace_.start_ns()) * kPsPerNs, &message);
      PutVarint(kEventDurationPs, (event.end_ns - event.start_ns) * kPsPerNs, &message);
      for (const Trace::Number& number : trace_.NumbersOf(event)) {
        PutBytes(kEventStats, NumberStat(stats_.Of(trace_.strings()[number.name]), number.value),
                 &message);
      }
      PutBytes(kLineEvents, message, &line);
    }
    return line;
  }

  void PutMetadata(std::string* plane) {
    for (const auto& [kind, id] : kinds_.all()) {
      const auto& [name, source] = kind;
      std::string metadata;
      PutVarint(kMetadataId, id, &metadata);
      PutBytes(kMetadataName, trace_.strings()[name], &metadata);
      if (!trace_.strings()[source].empty()) {
        std::string stat;
        PutVarint(kStatMetadataId, stats_.Of(std::string(kSource)), &stat);
        PutBytes(kStatString, trace_.strings()[source], &stat);
        PutBytes(kEventMetadataStats, stat, &metadata);
      }
      PutMapEntry(kPlaneEventMetadata, id, metadata, plane);
    }
    for (const auto& [name, id] : stats_.all()) {
      std::string metadata;
      PutVarint(kMetadataId, id, &metadata);
      PutBytes(kMetadataName, name, &metadata);
      PutMapEntry(kPlaneStatMetadata, id, metadata, plane);
    }
  }

  const Trace& trace_;
  Ids<std::pair<uint32_t, uint32_t>> kinds_;  // name and source
  Ids<std::string> stats_;
};

}  // namespace

Trace::Trace(int64_t start_ns, size_t max_bytes) : start_ns_(start_ns), max_bytes_(max_bytes) {
  Intern("");
}

uint32_t Trace::Intern(std::string_view text) {
  const auto known = places_.find(text);
  if (known != places_.end()) return known->second;
  constexpr size_t kEntryBytes = 96;  // of the list and the table, roughly
  bytes_ += text.size() + kEntryBytes;
  const uint32_t place = uint32_t(strings_.size());
  places_.emplace(strings_.emplace_back(text), place);
  return place;
}

void Trace::Add(const TraceEvent& event) {
  const size_t wanted = sizeof(Event) + event.numbers.size() * sizeof(Number);
  if (bytes_ + wanted > max_bytes_) {
    ++dropped_;
    return;
  }
  bytes_ += wanted;
  const size_t first_number = numbers_.size();
  for (const backend::Recorder::Number& number : event.numbers) {
    numbers_.push_back({Intern(number.name), number.value});
  }
  const int64_t start = std::max(event.start_ns, start_ns_);
  events_.push_back({.device = event.device,
                     .line = Intern(event.line),
                     .line_id = event.line_id,
                     .name = Intern(event.name),
                     .source = Intern(event.source),
                     .in_order = event.in_order,
                     .start_ns = start,
                     .end_ns = std::max(event.end_ns, start),
                     .first_number = first_number,
                     .num_numbers = event.numbers.size()});
}

std::string SerializeXSpace(const Trace& trace) {
  std::map<int, std::map<std::pair<int64_t, uint32_t>, Events>> planes;
  for (const Trace::Event& event : trace.events()) {
    planes[event.device][{event.line_id, event.line}].push_back(event);
  }
  std::string space;
  for (auto& [device, lines] : planes) {
    PutBytes(kPlanes, PlaneWriter(trace).Write(device, std::move(lines)), &space);
  }
  if (trace.dropped() != 0) {
    PutBytes(kWarnings,
             std::to_string(trace.dropped()) + " events of " + std::string(kPlatformName) +
                 " devices are not in this profile, which has no room for them; take a shorter one",
             &space);
  }
  return space;
}

}  // namespace PJRT_PLUGIN_NS::plugin
