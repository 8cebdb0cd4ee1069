#include "reference/plan.h"

#include <string>

namespace PJRT_PLUGIN_NS::reference {
namespace {

void Append(std::string& text, const Sequence& sequence, int depth) {
  for (const Step& step : sequence.steps) {
    text.append(size_t(2 * depth), ' ');
    text += step.text + "\n";
    for (size_t i = 0; i < step.nested.size(); ++i) {
      text.append(size_t(2 * depth), ' ');
      text += "region " + std::to_string(i) + ":\n";
      Append(text, *step.nested[i], depth + 1);
    }
  }
}

}  // namespace

Status Sequence::RunRecorded(const Frame& frame) const {
  for (const Step& step : steps) {
    const int64_t start_ns = backend::Recorder::Now();
    PJRT_PLUGIN_RETURN_IF_ERROR(step.run(frame));
    frame.recorder->Record({.device = frame.device->info().id,
                            .line = backend::Recorder::kOps,
                            .name = step.name,
                            .start_ns = start_ns,
                            .end_ns = backend::Recorder::Now(),
                            .source = step.source});
  }
  return Status();
}

std::string ToString(const Plan& plan) {
  static constexpr const char* kKinds[] = {"argument", "output", "constant", "temp"};
  std::string text = "arena of " + std::to_string(plan.temp_bytes) + " bytes\n";
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    text += "%" + std::to_string(i) + ": " + std::to_string(buffer.bytes) + " bytes";
    if (buffer.root != BufferId(i)) {
      text += " in %" + std::to_string(buffer.root);
    } else {
      text += std::string(" ") + kKinds[size_t(buffer.kind)];
      text += buffer.index >= 0 ? " " + std::to_string(buffer.index)
                                : " at " + std::to_string(buffer.offset);
      text += ", alive " + std::to_string(buffer.first) + " to " + std::to_string(buffer.last);
    }
    text += buffer.note.empty() ? "\n" : "  // " + buffer.note + "\n";
  }
  text += "\n";
  Append(text, plan.body, 0);
  return text;
}

}  // namespace PJRT_PLUGIN_NS::reference
