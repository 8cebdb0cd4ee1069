#ifndef PLUGIN_MAPPED_MEMORY_H_
#define PLUGIN_MAPPED_MEMORY_H_

// MappedMemory: the host memory that a client has let its devices reach directly
// (PJRT_Client_DmaMap). Holds callers to what drivers rely on: no range twice, nothing unmapped
// that was not mapped, and all of it unmapped before the driver goes.
//
// Threads: any member from any thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "backend/driver.h"
#include "generated/config.h"
#include "plugin/error.h"

namespace PJRT_PLUGIN_NS::plugin {

class MappedMemory {
 public:
  // INVALID_ARGUMENT for no bytes and for a range that overlaps a mapped one; else the driver's
  // failure.
  Status Map(backend::Driver& driver, void* data, size_t size, const char* function);
  // INVALID_ARGUMENT unless `data` is the start of a mapped range.
  Status Unmap(backend::Driver& driver, void* data, const char* function);
  // For the end of the client.
  void UnmapAll(backend::Driver& driver);

 private:
  std::mutex mutex_;
  std::map<uintptr_t, size_t> sizes_;  // by address
};

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_MAPPED_MEMORY_H_
