#ifndef PLUGIN_XSPACE_H_
#define PLUGIN_XSPACE_H_

// XSpace: a profile in the form in which profilers of frameworks exchange it (the protocol buffer
// XSpace of xplane.proto). A Trace collects events, many times faster than the message could be
// written, and within a bound; SerializeXSpace writes the message from it.
//
//   Trace trace(Recorder::Now(), 1 << 20);
//   trace.Add({.plane = "/device:CUSTOM:acme:0", .line = "XLA Ops", .name = "add", ...});
//   std::string bytes = SerializeXSpace(trace);
//
// Threads: none; callers lock.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/recorder.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::plugin {

// A plane is one device, or the host; a line is one row of it.
struct TraceEvent {
  // Of the host's lines, which are threads: the framework's own events of the thread are there too.
  static constexpr int kHost = -1;

  int device = 0;         // an id, or kHost
  std::string_view line;  // its name
  int64_t line_id = 0;    // of a line of the host: the thread
  std::string_view name;
  int64_t start_ns = 0;  // since the Unix epoch
  int64_t end_ns = 0;
  std::string_view source = {};
  std::span<const backend::Recorder::Number> numbers = {};
  // Whether the work of this line is done in order, each piece beginning when the one before ends:
  // `start_ns` is then the earliest moment at which it can have begun.
  bool in_order = false;
};

class Trace {
 public:
  struct Number {
    uint32_t name;
    int64_t value;
  };
  // Names are places in `strings`.
  struct Event {
    int device;
    uint32_t line;
    int64_t line_id;
    uint32_t name;
    uint32_t source;  // 0, which is "", when there is none
    bool in_order;
    int64_t start_ns;
    int64_t end_ns;
    size_t first_number;
    size_t num_numbers;
  };

  // Events from `start_ns` on, as many as `max_bytes` of memory hold.
  Trace(int64_t start_ns, size_t max_bytes);

  // Keeps the event, or counts it as dropped.
  void Add(const TraceEvent& event);

  int64_t start_ns() const { return start_ns_; }
  int64_t dropped() const { return dropped_; }
  const std::vector<Event>& events() const { return events_; }
  const std::deque<std::string>& strings() const { return strings_; }
  std::span<const Number> NumbersOf(const Event& event) const {
    return std::span(numbers_).subspan(event.first_number, event.num_numbers);
  }

 private:
  uint32_t Intern(std::string_view text);

  const int64_t start_ns_;
  const size_t max_bytes_;
  size_t bytes_ = 0;
  int64_t dropped_ = 0;
  std::vector<Event> events_;
  std::vector<Number> numbers_;
  std::deque<std::string> strings_;  // whose addresses stay
  std::unordered_map<std::string_view, uint32_t> places_;
};

// The message; empty when the trace is.
std::string SerializeXSpace(const Trace& trace);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_XSPACE_H_
