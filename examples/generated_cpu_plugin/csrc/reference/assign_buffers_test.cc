#include "reference/assign_buffers.h"

#include <random>
#include <vector>

#include "testing/test.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

Plan RandomPlan(uint32_t seed) {
  std::mt19937 random(seed);
  auto below = [&](uint32_t n) { return int(random() % n); };
  Plan plan;
  plan.outputs.resize(2);
  for (int i = 0; i < 60; ++i) {
    Buffer buffer;
    buffer.kind = i < 2 ? BufferKind::kOutput : BufferKind::kTemp;
    buffer.index = i < 2 ? i : -1;
    buffer.bytes = size_t(below(4)) * 100 + 1;
    buffer.root = BufferId(i);
    buffer.first = below(40);
    buffer.last = i < 2 ? 100 : buffer.first + below(10);
    if (i < 2) plan.outputs[size_t(i)] = {BufferId(i), buffer.bytes};
    plan.buffers.push_back(buffer);
  }
  for (int i = 0; i < 200; ++i) {
    BufferId a = below(60), b = below(60);
    plan.in_place.push_back({a, b, plan.buffers[size_t(a)].last});
  }
  return plan;
}

// No two names of different memory that are alive at one step overlap.
TEST(AssignBuffers, LiveValuesNeverOverlap) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Plan plan = RandomPlan(seed);
    const Plan before = plan;
    AssignBuffers(plan);
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const Buffer& a = before.buffers[i];
        const Buffer& b = before.buffers[j];
        const Buffer& at = plan.buffers[size_t(plan.buffers[i].root)];
        const Buffer& bt = plan.buffers[size_t(plan.buffers[j].root)];
        if (a.last < b.first || b.last < a.first) continue;
        if (&at == &bt) {
          // One memory: they touch in a single step, which said that it may be.
          EXPECT_TRUE(a.last == b.first || b.last == a.first);
          continue;
        }
        if (at.kind != BufferKind::kTemp || bt.kind != BufferKind::kTemp) continue;
        EXPECT_TRUE(at.offset + at.bytes <= bt.offset || bt.offset + bt.bytes <= at.offset);
        EXPECT_TRUE(at.offset % 64 == 0 && at.offset + at.bytes <= plan.temp_bytes);
      }
    }
  }
}

TEST(AssignBuffers, ChainReusesOneBlock) {
  Plan plan;
  for (int i = 0; i < 10; ++i) {
    Buffer buffer;
    buffer.bytes = 1000;
    buffer.root = BufferId(i);
    buffer.first = i;
    buffer.last = i + 1;
    plan.buffers.push_back(buffer);
    if (i > 0) plan.in_place.push_back({BufferId(i - 1), BufferId(i), i});
  }
  AssignBuffers(plan);
  EXPECT_EQ(plan.temp_bytes, size_t{1024});
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
