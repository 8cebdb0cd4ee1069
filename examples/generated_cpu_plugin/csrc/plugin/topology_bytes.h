#ifndef PLUGIN_TOPOLOGY_BYTES_H_
#define PLUGIN_TOPOLOGY_BYTES_H_

// A topology as bytes: a PjRtTopologyDescriptionProto, which frameworks look into, with the devices
// as its platform's part. Equal for equal topologies, in every process of a job.

#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "generated/config.h"
#include "plugin/error.h"

namespace PJRT_PLUGIN_NS::plugin {

struct Client;

std::string WriteTopology(const Client& client);

// The devices of a topology, by ascending id; local_hardware_id is -1, as no process has them.
// INVALID_ARGUMENT, with `function` in front, for bytes that are no topology of this platform.
Result<std::vector<backend::DeviceInfo>> ReadTopology(std::string_view bytes, const char* function);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_TOPOLOGY_BYTES_H_
