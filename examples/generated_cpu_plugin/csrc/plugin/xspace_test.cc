#include "plugin/xspace.h"

#include <map>
#include <string>
#include <vector>

#include "plugin/proto.h"
#include "plugin/xspace_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

constexpr int64_t kStart = 1'700'000'000'000'000'000;

TraceEvent Op(int device, std::string_view name, int64_t begin, int64_t end) {
  return {.device = device,
          .line = "XLA Ops",
          .name = name,
          .start_ns = kStart + begin,
          .end_ns = kStart + end};
}

TEST(XSpace, OfNothingIsEmpty) {
  EXPECT_EQ(SerializeXSpace(Trace(kStart, 1000)).size(), size_t{0});
}

TEST(XSpace, HasAPlaneForEachDevice) {
  Trace trace(kStart, 1 << 20);
  trace.Add(Op(3, "add", 10, 25));
  trace.Add(Op(0, "multiply", 5, 6));
  const ReadSpace space = ParseXSpace(SerializeXSpace(trace));
  ASSERT_TRUE(space.planes.size() == 2);
  const ReadPlane& plane = space.planes[1];
  EXPECT_EQ(plane.name, "/device:CUSTOM:" + std::string(kPlatformName) + ":3");
  EXPECT_EQ(plane.id, int64_t{3});
  ASSERT_TRUE(plane.lines.size() == 1 && plane.lines[0].events.size() == 1);
  EXPECT_EQ(plane.lines[0].name, "XLA Ops");
  EXPECT_EQ(plane.lines[0].timestamp_ns, kStart);
  EXPECT_EQ(plane.lines[0].events[0].name, "add");
  EXPECT_EQ(plane.lines[0].events[0].offset_ps, int64_t{10'000});
  EXPECT_EQ(plane.lines[0].events[0].duration_ps, int64_t{15'000});
}

TEST(XSpace, KeepsNumbersAndSources) {
  Trace trace(kStart, 1 << 20);
  const backend::Recorder::Number numbers[] = {{"flops", 1 << 20}, {"bytes accessed", -1}};
  TraceEvent event = Op(0, "dot", 1, 2);
  event.source = "model.py:12";
  event.numbers = numbers;
  trace.Add(event);
  const ReadEvent read = ParseXSpace(SerializeXSpace(trace)).planes.at(0).lines.at(0).events.at(0);
  EXPECT_EQ(read.stats.at("flops"), "1048576");
  EXPECT_EQ(read.stats.at("bytes accessed"), "-1");
  EXPECT_EQ(read.stats.at("source"), "model.py:12");
}

TEST(XSpace, EventsOfALineNestOrDoNotMeet) {
  Trace trace(kStart, 1 << 20);
  trace.Add(Op(0, "body", 12, 15));
  trace.Add(Op(0, "while", 10, 30));
  trace.Add(Op(0, "other", 20, 40));  // of another program, at the same time
  trace.Add(Op(0, "after", 30, 35));
  const ReadPlane plane = ParseXSpace(SerializeXSpace(trace)).planes.at(0);
  ASSERT_TRUE(plane.lines.size() == 2);
  EXPECT_EQ(plane.lines[0].events.size(), size_t{3});
  EXPECT_EQ(plane.lines[1].name, "XLA Ops (2)");
  EXPECT_EQ(plane.lines[1].events.at(0).name, "other");
}

TEST(XSpace, WorkInOrderBeginsWhenTheDeviceIsFree) {
  Trace trace(kStart, 1 << 20);
  for (int64_t end : {40, 20}) {
    TraceEvent event = Op(0, "step", 10, end);
    event.in_order = true;
    trace.Add(event);
  }
  const ReadPlane plane = ParseXSpace(SerializeXSpace(trace)).planes.at(0);
  ASSERT_TRUE(plane.lines.size() == 1);
  EXPECT_EQ(plane.lines[0].events.at(0).offset_ps, int64_t{10'000});
  EXPECT_EQ(plane.lines[0].events.at(1).offset_ps, int64_t{20'000});
  EXPECT_EQ(plane.lines[0].events.at(1).duration_ps, int64_t{20'000});
}

// Frameworks take times before the profile for times that count from its start.
TEST(XSpace, WhatBeganEarlierIsShownFromTheStart) {
  Trace trace(kStart, 1 << 20);
  trace.Add(Op(0, "long", -50, 10));
  const ReadEvent event = ParseXSpace(SerializeXSpace(trace)).planes.at(0).lines.at(0).events.at(0);
  EXPECT_EQ(event.offset_ps, int64_t{0});
  EXPECT_EQ(event.duration_ps, int64_t{10'000});
}

TEST(XSpace, TellsHowMuchThereWasNoRoomFor) {
  Trace trace(kStart, 4096);
  for (int i = 0; i < 1000; ++i) trace.Add(Op(0, "add", i, i + 1));
  EXPECT_TRUE(trace.dropped() > 0);
  const ReadSpace space = ParseXSpace(SerializeXSpace(trace));
  const size_t kept = space.planes.at(0).lines.at(0).events.size();
  EXPECT_EQ(int64_t(kept) + trace.dropped(), int64_t{1000});
  EXPECT_EQ(space.planes[0].stats.at("dropped_traces"), std::to_string(trace.dropped()));
  EXPECT_CONTAINS(space.warnings.at(0), std::to_string(trace.dropped()) + " events");
}

TEST(XSpace, SaysSoEvenWhenThereIsRoomForNothing) {
  Trace trace(kStart, 0);
  trace.Add(Op(0, "add", 0, 1));
  const ReadSpace space = ParseXSpace(SerializeXSpace(trace));
  EXPECT_TRUE(space.planes.empty());
  EXPECT_EQ(space.warnings.size(), size_t{1});
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
