#ifndef PLUGIN_CLIENT_H_
#define PLUGIN_CLIENT_H_

// Client: a driver and the C handles for its devices and memories, whose addresses frameworks use
// as identities. Buffers and executables share it, so it lives until the last of them is gone,
// whatever is destroyed first.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/driver.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"
#include "plugin/attributes.h"
#include "plugin/device.h"
#include "plugin/error.h"
#include "plugin/fork.h"
#include "plugin/handle.h"
#include "plugin/mapped_memory.h"
#include "plugin/memory.h"
#include "plugin/topology.h"
#include "plugin/work_in_flight.h"

namespace PJRT_PLUGIN_NS::plugin {

struct Client : Handle<Tag::kClient>, std::enable_shared_from_this<Client> {
  static Result<std::shared_ptr<Client>> Create(const backend::DriverOptions& options);
  ~Client();

  // OK, or FAILED_PRECONDITION when this is a forked child and the client is its parent's.
  Status CheckProcess(const char* function) const {
    return fork_generation == ForkGeneration() ? Status() : ForkedError(function);
  }

  // Null when there is no such device.
  Device* FindDevice(int id) const;
  Device* FindDevice(const backend::Device* impl) const;
  Memory* FindMemory(const backend::Memory* impl) const;

  // First the driver: everything below points into it, and is destroyed before it.
  std::unique_ptr<backend::Driver> driver;
  std::vector<std::unique_ptr<Memory>> owned_memories;
  std::vector<std::unique_ptr<Device>> owned_devices;
  std::vector<Device*> devices;  // by ascending id
  std::vector<Device*> addressable_devices;
  std::vector<Memory*> memories;
  std::unique_ptr<Topology> topology;
  MappedMemory mapped_memory;
  WorkInFlight work;
  std::string platform_version;
  int process_index = 0;
  bool compile_only = false;  // stands behind a topology: no caller sees it, and nothing runs on it
  uint32_t fork_generation = 0;
  // The reference that the C caller holds, from PJRT_Client_Create to PJRT_Client_Destroy.
  std::shared_ptr<Client> held_by_caller;

 private:
  Client() = default;
  Status Build();
};
PJRT_PLUGIN_HANDLE(PJRT_Client, Client)

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_CLIENT_H_
