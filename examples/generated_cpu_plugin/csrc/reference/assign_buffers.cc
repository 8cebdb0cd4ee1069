#include "reference/assign_buffers.h"

#include <algorithm>
#include <vector>

namespace PJRT_PLUGIN_NS::reference {
namespace {

constexpr size_t kAlignment = 64;

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// `from` becomes a second name of `into`.
void Merge(Plan& plan, BufferId from, BufferId into) {
  Buffer& gone = plan.buffers[size_t(from)];
  Buffer& kept = plan.buffers[size_t(into)];
  gone.root = into;
  if (gone.first >= 0) kept.first = kept.first < 0 ? gone.first : std::min(kept.first, gone.first);
  kept.last = std::max(kept.last, gone.last);
}

bool DonatedTo(const Plan& plan, const Buffer& argument, const Buffer& output) {
  return argument.kind == BufferKind::kArgument && output.kind == BufferKind::kOutput &&
         plan.arguments[size_t(argument.index)].donated_to_output == output.index;
}

void MergeArgument(Plan& plan, BufferId argument, BufferId output) {
  plan.arguments[size_t(plan.buffers[size_t(argument)].index)].shares_output = true;
  Merge(plan, argument, output);
}

void MergeInPlace(Plan& plan) {
  for (const InPlace& one : plan.in_place) {
    BufferId in = plan.Root(one.operand);
    BufferId out = plan.Root(one.result);
    const Buffer& operand = plan.buffers[size_t(in)];
    const Buffer& result = plan.buffers[size_t(out)];
    if (in == out || operand.bytes != result.bytes || operand.last != one.position ||
        result.first != one.position)
      continue;
    if (DonatedTo(plan, operand, result)) {
      MergeArgument(plan, in, out);
    } else if (operand.kind == BufferKind::kTemp &&
               (result.kind == BufferKind::kTemp || result.kind == BufferKind::kOutput)) {
      Merge(plan, in, out);
    } else if (operand.kind == BufferKind::kOutput && result.kind == BufferKind::kTemp) {
      // An output that is read for the last time here would lose its value: its last use is the end
      // of the program.
      continue;
    }
  }
}

// A donated argument that is dead before its output is first written lends its block as well.
void MergeDonated(Plan& plan) {
  for (const PlanArgument& argument : plan.arguments) {
    if (!argument.donated_to_output || argument.shares_output) continue;
    BufferId in = plan.Root(argument.buffer);
    BufferId out = plan.Root(plan.outputs[size_t(*argument.donated_to_output)].buffer);
    const Buffer& operand = plan.buffers[size_t(in)];
    const Buffer& result = plan.buffers[size_t(out)];
    if (in != out && DonatedTo(plan, operand, result) && operand.bytes == result.bytes &&
        operand.last < result.first)
      MergeArgument(plan, in, out);
  }
}

void PlaceTemps(Plan& plan) {
  std::vector<BufferId> temps;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.kind == BufferKind::kTemp && buffer.root == BufferId(i) && buffer.first >= 0)
      temps.push_back(BufferId(i));
  }
  // The large ones first: they are the hardest to place.
  std::stable_sort(temps.begin(), temps.end(), [&](BufferId a, BufferId b) {
    return plan.buffers[size_t(a)].bytes > plan.buffers[size_t(b)].bytes;
  });
  std::vector<BufferId> placed;  // by offset
  for (BufferId id : temps) {
    Buffer& buffer = plan.buffers[size_t(id)];
    size_t size = Aligned(std::max<size_t>(buffer.bytes, 1));
    size_t offset = 0;
    auto at = placed.begin();
    for (auto it = placed.begin(); it != placed.end(); ++it) {
      const Buffer& other = plan.buffers[size_t(*it)];
      if (other.last < buffer.first || buffer.last < other.first) continue;
      if (offset + size <= other.offset) break;
      offset = std::max(offset, other.offset + Aligned(std::max<size_t>(other.bytes, 1)));
    }
    buffer.offset = offset;
    at = std::upper_bound(placed.begin(), placed.end(), offset, [&](size_t value, BufferId one) {
      return value < plan.buffers[size_t(one)].offset;
    });
    placed.insert(at, id);
    plan.temp_bytes = std::max(plan.temp_bytes, offset + size);
  }
}

}  // namespace

void AssignBuffers(Plan& plan) {
  MergeInPlace(plan);
  MergeDonated(plan);
  PlaceTemps(plan);
  for (Buffer& buffer : plan.buffers) buffer.root = plan.Root(buffer.root);
}

}  // namespace PJRT_PLUGIN_NS::reference
