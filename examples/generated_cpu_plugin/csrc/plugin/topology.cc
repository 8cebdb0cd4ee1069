#include "plugin/topology.h"

#include <string>

#include "plugin/bytes.h"
#include "plugin/client.h"
#include "plugin/layer.h"
#include "plugin/topology_bytes.h"

namespace PJRT_PLUGIN_NS::plugin {

Topology::Topology(Client* client) : client(client), serialized(WriteTopology(*client)) {
  fingerprint = Fnv1a(serialized);
  for (Device* device : client->devices) descriptions.push_back(&device->description);
  for (const Memory* memory : client->addressable_devices.front()->memories()) {
    memory_kind_ids.push_back(KindId(memory->impl->info().kind));
  }
}

PJRT_Error* Layer::Client_TopologyDescription(PJRT_Client_TopologyDescription_Args* args) {
  args->topology = ToC(FromC(args->client)->topology.get());
  return nullptr;
}

PJRT_Error* Layer::TopologyDescription_PlatformName(
    PJRT_TopologyDescription_PlatformName_Args* args) {
  args->platform_name = kPlatformName;
  args->platform_name_size = std::char_traits<char>::length(kPlatformName);
  return nullptr;
}

PJRT_Error* Layer::TopologyDescription_PlatformVersion(
    PJRT_TopologyDescription_PlatformVersion_Args* args) {
  const std::string& version = FromC(args->topology)->client->platform_version;
  args->platform_version = version.data();
  args->platform_version_size = version.size();
  return nullptr;
}

PJRT_Error* Layer::TopologyDescription_GetDeviceDescriptions(
    PJRT_TopologyDescription_GetDeviceDescriptions_Args* args) {
  const std::vector<DeviceDescription*>& descriptions = FromC(args->topology)->descriptions;
  args->descriptions = reinterpret_cast<PJRT_DeviceDescription* const*>(descriptions.data());
  args->num_descriptions = descriptions.size();
  return nullptr;
}

PJRT_Error* Layer::TopologyDescription_Attributes(PJRT_TopologyDescription_Attributes_Args* args) {
  const NamedValues& attributes = FromC(args->topology)->attributes;
  args->attributes = attributes.data();
  args->num_attributes = attributes.size();
  return nullptr;
}

PJRT_Error* Layer::TopologyDescription_Serialize(PJRT_TopologyDescription_Serialize_Args* args) {
  GiveBytes(FromC(args->topology)->serialized, &args->serialized_bytes,
            &args->serialized_bytes_size, &args->serialized_topology,
            &args->serialized_topology_deleter);
  return nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_TopologyDescription_Fingerprint
PJRT_Error* Layer::TopologyDescription_Fingerprint(
    PJRT_TopologyDescription_Fingerprint_Args* args) {
  args->fingerprint = FromC(args->topology)->fingerprint;
  return nullptr;
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_TopologyDescription_GetMemorySpaceKindIds
PJRT_Error* Layer::TopologyDescription_GetMemorySpaceKindIds(
    PJRT_TopologyDescription_GetMemorySpaceKindIds_Args* args) {
  const std::vector<int>& ids = FromC(args->topology)->memory_kind_ids;
  args->memory_space_kind_ids = ids.data();
  args->num_memory_space_kind_ids = ids.size();
  return nullptr;
}
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
