#ifndef PLUGIN_TOPOLOGY_H_
#define PLUGIN_TOPOLOGY_H_

// Topology: the devices of a client as they are described to compilers and caches. Lives as long as
// the client. One that is made without a client has a client of its own (topology_create.cc).

#include <cstdint>
#include <string>
#include <vector>

#include "generated/config.h"
#include "generated/pjrt_c_api.h"
#include "plugin/attributes.h"
#include "plugin/device.h"
#include "plugin/handle.h"

namespace PJRT_PLUGIN_NS::plugin {

struct Client;

struct Topology : Handle<Tag::kTopology> {
  explicit Topology(Client* client);

  Client* const client;
  std::vector<DeviceDescription*> descriptions;
  NamedValues attributes;
  std::vector<int> memory_kind_ids;  // of a device's memories, the default one first
  // All that distinguishes one topology from another; equal in every process of a job.
  std::string serialized;
  uint64_t fingerprint = 0;
};
PJRT_PLUGIN_HANDLE(PJRT_TopologyDescription, Topology)

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_TOPOLOGY_H_
