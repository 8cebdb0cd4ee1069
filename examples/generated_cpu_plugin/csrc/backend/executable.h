#ifndef BACKEND_EXECUTABLE_H_
#define BACKEND_EXECUTABLE_H_

// Executable: a compiled program, ready to run on any devices of the client that compiled or loaded
// it.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/attribute.h"
#include "backend/completion.h"
#include "backend/custom_call.h"
#include "backend/device.h"
#include "backend/host_transfers.h"
#include "backend/shape.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

// How an array of a program on several devices is spread over them.
//
//   {.tiles = {4, 1}, .devices = {0, 1, 2, 3}}: rows in four parts
//   {.tiles = {2, 1}, .devices = {0, 1, 2, 3}}: rows in two parts, the first on 0 and on 1, the
//   second on 2 and on 3
//   {}: all of it on every device
struct Sharding {
  // Parts along each dimension of the array.
  std::vector<int64_t> tiles;
  // The logical device (place in the device assignment) of each part, the parts row-major, all
  // copies of a part in a row.
  std::vector<int64_t> devices;

  friend bool operator==(const Sharding&, const Sharding&) = default;
};

struct ParameterInfo {
  // On one device. Its layout is that of the blocks that the executable takes: the plugin layer
  // refuses arrays of another one, and tells frameworks of it.
  Shape shape;
  std::optional<Sharding>
      sharding;  // nothing: not known, which frameworks accept on one device only
  std::string memory_kind = std::string(kDeviceMemoryKind);
  // The output that takes over this parameter's block when the caller donates it.
  std::optional<int> donated_to_output;
};

struct OutputInfo {
  Shape shape;                       // on one device, with the layout of the block it comes in
  std::optional<Sharding> sharding;  // as of a parameter
  std::string memory_kind = std::string(kDeviceMemoryKind);
};

struct ExecutableInfo {
  std::string name;  // of the program: "jit_train_step"
  int num_replicas = 1;
  int num_partitions = 1;
  // Whether Execute also takes the launch of one device alone: PyTorch/XLA starts each device of a
  // program in a call of its own. So it is where no device waits for another.
  bool runs_apart = false;
  std::vector<ParameterInfo> parameters;
  std::vector<OutputInfo> outputs;
  int64_t code_bytes = 0;      // size of the generated code, 0 when unknown
  int64_t temp_bytes = 0;      // working memory of one execution on one device
  std::string fingerprint;     // equal only for the same program, options and compiler build
  std::string optimized_text;  // the program after all passes, for people; empty when there is none
  std::vector<Attribute> costs;  // "flops", "bytes accessed", ...
};

struct Argument {
  std::shared_ptr<Allocation> block;
  // The caller gives the block away: the executable may write to it, and must where
  // donated_to_output says so.
  bool donated = false;
};

// One device's part of an execution. What the spans show is the caller's, and there only during the
// call: work that goes on afterwards copies the blocks, which keeps them alive.
struct Launch {
  Device* device = nullptr;
  int replica = 0;
  int partition = 0;
  std::span<const Argument> arguments;  // one a parameter
  std::span<const Completion> after;    // inputs ready, and donated blocks no longer read by others
  // For the program's host sends and receives; null when the caller takes and gives nothing.
  std::shared_ptr<HostTransfers> host = nullptr;
};

struct LaunchResult {
  // One an output; contents valid once `done` is OK. Each is a block of its own, or one that the
  // caller donated: an argument that was not donated is never handed out again.
  std::vector<std::shared_ptr<Allocation>> outputs;
  // Ready when the launch has let go of its working memory and of all blocks but the outputs: those
  // who find the memory full wait for this.
  Completion done;
};

struct LaunchOptions {
  int64_t launch_id = 0;  // equal on all processes that take part in one execution
  // For the program's custom calls; null when the framework gave nothing. Kept until `done`.
  std::shared_ptr<const UserData> user_data = nullptr;
};

// Any member may be called from any thread.
class Executable {
 public:
  virtual ~Executable() = default;

  // Constant for the life of the executable.
  virtual const ExecutableInfo& info() const = 0;

  // Starts the program on all the devices of `launches` (those of this process, or one of them if
  // the program runs apart) and returns without
  // waiting for inputs. The results come in the order of the launches. A failure that is known at
  // once (out of memory, a wrong device) is the Result's and starts nothing; a later one is
  // `done`'s. After RESOURCE_EXHAUSTED the plugin layer waits for earlier work of the client and
  // calls again with the same launches, so memory is best taken here, and never waited for. When
  // one of `after` fails, `done` fails with that failure. The executable stays alive until every
  // `done` is ready.
  virtual Result<std::vector<LaunchResult>> Execute(std::span<const Launch> launches,
                                                    const LaunchOptions& options) = 0;

  // ---- Optional abilities ----

  // Bytes from which Compiler::Deserialize makes an equal executable, in another process too.
  virtual Result<std::string> Serialize() const {
    return Unimplemented("this backend cannot serialize executables");
  }
};

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_EXECUTABLE_H_
