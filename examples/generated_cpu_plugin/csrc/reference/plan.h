#ifndef REFERENCE_PLAN_H_
#define REFERENCE_PLAN_H_

// Plan: a compiled program. A flat list of steps, each a call of one kernel or of a small loop
// around kernels, over numbered buffers; control flow is a step that holds lists of its own.
// PlanBuilder makes it, AssignBuffers says where each buffer lies, Executable runs it. Nothing
// changes after that, so any number of executions share one plan.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/executable.h"
#include "backend/host_transfers.h"
#include "backend/recorder.h"
#include "backend/status.h"
#include "generated/config.h"
#include "reference/thread_pool.h"

namespace PJRT_PLUGIN_NS::reference {

using backend::Result;
using backend::Status;

class Collectives;

using BufferId = int32_t;
inline constexpr BufferId kNoBuffer = -1;

enum class BufferKind : uint8_t {
  kArgument,  // the caller's
  kOutput,    // allocated for each execution and given to the caller
  kConstant,  // part of the plan
  kTemp,      // in the arena of the execution
};

struct Buffer {
  BufferKind kind = BufferKind::kTemp;
  size_t bytes = 0;
  int index = -1;     // of an argument or output
  size_t offset = 0;  // of a constant in Plan::constants, of a temp in the arena
  BufferId root =
      kNoBuffer;  // the buffer whose memory this one is: itself, or one that it was merged with
  // The steps that use it, by position: it holds a value from `first` on and is free after `last`.
  int first = -1;
  int last = -1;
  std::string note;  // for the dump: what it holds
};

// One execution on one device, as steps see it.
struct Frame {
  std::byte* const* addresses = nullptr;  // by BufferId
  ThreadPool* pool = nullptr;
  Collectives* collectives = nullptr;      // null in a program without any
  backend::HostTransfers* host = nullptr;  // null when the caller takes and gives nothing
  backend::Device* device = nullptr;
  const backend::LaunchOptions* launch = nullptr;
  int replica = 0;
  int partition = 0;
  backend::Recorder* recorder = nullptr;  // null while no profile is taken

  template <typename T = std::byte>
  T* At(BufferId id) const {
    return reinterpret_cast<T*>(addresses[id]);
  }
};

struct Sequence;

struct Step {
  std::string name;    // for profiles: "dot_general tensor<512x512xf32>"
  std::string source;  // the line of the user's program; empty when unknown
  std::string text;    // for the dump: "%7 = dot_general tensor<512x512xf32> (%3, %5)"
  std::function<Status(const Frame&)> run;
  std::vector<std::shared_ptr<const Sequence>> nested;  // of control flow, for the dump
};

struct Sequence {
  std::vector<Step> steps;

  Status Run(const Frame& frame) const {
    if (frame.recorder != nullptr) [[unlikely]]
      return RunRecorded(frame);
    for (const Step& step : steps) {
      Status status = step.run(frame);
      if (!status.ok()) [[unlikely]]
        return status;
    }
    return Status();
  }

 private:
  Status RunRecorded(const Frame& frame) const;
};

// A place where a result may take over the memory of an operand that is used for the last time.
struct InPlace {
  BufferId operand = kNoBuffer;
  BufferId result = kNoBuffer;
  int position = 0;
};

struct PlanArgument {
  BufferId buffer = kNoBuffer;
  size_t bytes = 0;
  std::optional<int> donated_to_output;
  bool shares_output = false;  // the donated block is the output's memory from the start
};

struct PlanOutput {
  BufferId buffer = kNoBuffer;
  size_t bytes = 0;
};

struct Plan {
  std::vector<Buffer> buffers;
  std::vector<PlanArgument> arguments;
  std::vector<PlanOutput> outputs;
  std::vector<std::byte>
      constants;  // offsets count from the first aligned byte: see constant_base()
  std::vector<InPlace> in_place;
  Sequence body;
  size_t temp_bytes = 0;
  bool has_collectives = false;
  bool has_host_transfers = false;
  double flops = 0;
  double bytes_accessed = 0;

  BufferId Root(BufferId id) const {
    while (buffers[size_t(id)].root != id) id = buffers[size_t(id)].root;
    return id;
  }
  std::byte* constant_base() const {
    uintptr_t base = reinterpret_cast<uintptr_t>(constants.data());
    return reinterpret_cast<std::byte*>((base + 63) & ~uintptr_t{63});
  }
};

// The plan for people: buffers, then steps.
std::string ToString(const Plan& plan);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_PLAN_H_
