#ifndef BACKEND_MEMORY_H_
#define BACKEND_MEMORY_H_

// Memory: one memory space of one or several devices, and Allocation: one block in it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

class Device;
class Memory;

// Kinds that JAX knows. Any other name is allowed too.
inline constexpr std::string_view kDeviceMemoryKind = "device";
inline constexpr std::string_view kPinnedHostMemoryKind = "pinned_host";
inline constexpr std::string_view kUnpinnedHostMemoryKind = "unpinned_host";

// A block of memory, freed by the destructor. The plugin layer shares it between the buffers and
// the pieces of work that use it, so it goes only when the last of them is done; the Memory that
// made it outlives it.
class Allocation {
 public:
  Allocation(Memory* memory, void* address, size_t bytes)
      : memory_(memory), address_(address), bytes_(bytes) {}
  virtual ~Allocation() = default;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  Memory* memory() const { return memory_; }
  // The device address. Host code may follow it only where memory()->info().host_accessible. Never
  // null, also for zero bytes: frameworks read null as failure.
  void* address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  Memory* memory_;
  void* address_;
  size_t bytes_;
};

struct MemoryInfo {
  int id = 0;                    // unique in the client
  std::string kind;              // one of the kinds above
  bool host_accessible = false;  // host code may read and write Allocation::address()
  std::string debug_string;      // for people: "acme:0 device memory, 16 GiB"
};

// Figures for jax's Device.memory_stats(); -1 means unknown.
struct MemoryStats {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = -1;
  int64_t num_allocs = -1;
  int64_t largest_alloc_size = -1;
  int64_t bytes_limit = -1;
};

// Any member may be called from any thread.
class Memory {
 public:
  virtual ~Memory() = default;

  // Constant for the life of the memory.
  virtual const MemoryInfo& info() const = 0;
  // The devices that can address this memory. Usually one: frameworks place an array by naming a
  // memory, and it is then said to be on the first of these. So host memory is best listed once a
  // device.
  virtual std::span<Device* const> devices() const = 0;

  // A block of at least `bytes` bytes (0 is valid), aligned to 64 or to what the hardware wants.
  // RESOURCE_EXHAUSTED when the memory is full; the message says how much was asked for, in use and
  // available. Does not wait for memory: the plugin layer waits for work in flight and asks again.
  virtual Result<std::shared_ptr<Allocation>> Allocate(size_t bytes) = 0;

  // ---- Optional abilities ----

  // Uses `bytes` bytes that the caller owns as a block of this memory, without a copy; the block
  // does not free them. UNIMPLEMENTED: the plugin layer copies instead.
  virtual Result<std::shared_ptr<Allocation>> Wrap(void* address, size_t bytes) {
    (void)address, (void)bytes;
    return Unimplemented("this memory cannot use foreign addresses");
  }
  virtual Result<MemoryStats> Stats() const {
    return Unimplemented("this memory keeps no statistics");
  }
  // Forgets what was: the peak is what is in use now, and counts and largest sizes begin anew.
  virtual Status ClearStats() { return Unimplemented("this memory cannot clear its statistics"); }
};

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_MEMORY_H_
