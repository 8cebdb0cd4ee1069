#ifndef BACKEND_DRIVER_H_
#define BACKEND_DRIVER_H_

// Driver: everything behind one PJRT client. This folder is what a vendor implements; csrc/plugin
// makes the whole PJRT C API out of it. The four functions at the end are the way in:
// csrc/vendor/backend.cc defines them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/compiler.h"
#include "backend/custom_call.h"
#include "backend/device.h"
#include "backend/options.h"
#include "backend/recorder.h"
#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

// The key-value store through which the processes of one job find each other. Only there when
// num_processes > 1. May be called from any thread, though not under a lock: it is the framework's
// code. Valid until the framework destroys its client, which buffers and the driver may outlive:
// for CreateDriver, and for compilations and launches while they begin.
struct KeyValueStore {
  // ALREADY_EXISTS, usually, for a key that has a value.
  std::function<Status(std::string_view key, std::string_view value)> put;
  // Waits for somebody to put the value: DEADLINE_EXCEEDED when nobody does in time.
  std::function<Result<std::string>(std::string_view key, int timeout_ms)> get;
  // NOT_FOUND when nobody has put the value yet.
  std::function<Result<std::string>(std::string_view key)> try_get;
};

// What the framework knows of one process of the job.
struct ProcessInfo {
  int index = 0;
  uint64_t incarnation = 0;  // another number when the process has been started anew
  bool connected = false;
  Status error;  // why a process failed; OK in one that did not
};

// Devices to compile for, which need not be there: a topology without a client.
struct TopologyRequest {
  std::string name;                 // the framework's, "2x2"; empty: what the options say
  std::vector<DeviceInfo> devices;  // instead of a name, those of a topology that was serialized
};

struct DriverOptions {
  Options options;  // one value for each of DriverOptionSpecs()
  int process_index = 0;
  int num_processes = 1;
  KeyValueStore store;
  // The foreign functions that programs may call; lives for ever. Null: there are none.
  CustomCalls* custom_calls = nullptr;
  // Where to note what the devices do while a profile is taken; lives for ever, never null.
  Recorder* recorder = Recorder::None();
  // The driver is asked for no more than what its devices and memories are, and to compile: it
  // touches no hardware. INVALID_ARGUMENT when there are no such devices; UNIMPLEMENTED from a
  // backend that cannot compile without its devices.
  std::optional<TopologyRequest> topology;
};

// Destroyed after the last buffer and executable of its client, on whichever thread lets go of
// that, though never on one that is running a callback of a Completion. Work that was queued before
// is finished, or dropped, by the destructor.
class Driver {
 public:
  virtual ~Driver() = default;

  // Version of the runtime or firmware, for people and for cache keys: "acme runtime 1.4.2".
  virtual std::string_view platform_version() const = 0;
  // All devices of all processes, by ascending id. Constant for the life of the driver.
  virtual std::span<Device* const> devices() const = 0;
  // The memories of this process's devices.
  virtual std::span<Memory* const> memories() const = 0;
  virtual Compiler& compiler() = 0;

  // ---- Optional abilities ----

  // Makes host memory reachable by the devices themselves ("pins" it), so that copies from and to
  // it need no staging, until UnmapHostMemory of the same address. `bytes` is not 0, mapped ranges
  // do not overlap, and each is unmapped before the driver is destroyed.
  virtual Status MapHostMemory(void* address, size_t bytes) {
    (void)address, (void)bytes;
    return Unimplemented("the devices of this backend do not access host memory directly");
  }
  // No copy from or to the memory is under way: callers see to that.
  virtual Status UnmapHostMemory(void* address) {
    (void)address;
    return Unimplemented("the devices of this backend do not access host memory directly");
  }
  // News of the job's processes, on a thread of the framework. Work that waits for a process that
  // is gone, or has been started anew, may be failed.
  virtual void UpdateProcesses(std::span<const ProcessInfo> processes) { (void)processes; }
};

// ---- Defined by csrc/vendor/backend.cc ----

// Called once a process, by PJRT_Plugin_Initialize, before any client. Quick, and without touching
// a device.
Status InitializePlugin();
// What programs may be written in. Asked before there is a client.
StablehloRange StablehloVersions();
// The options that CreateDriver understands.
std::span<const OptionSpec> DriverOptionSpecs();
// Called for each client. UNAVAILABLE when there is no device; the message says what was looked for
// and where.
Result<std::unique_ptr<Driver>> CreateDriver(const DriverOptions& options);

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_DRIVER_H_
