#include "plugin/topology.h"

#include <string>

#include "plugin/bytes.h"
#include "plugin/client.h"
#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// Lines of text: it is short, and people read it when two processes disagree.
std::string Describe(const Client& client) {
  std::string text = std::string(kPlatformName) + " topology 1\n" + client.platform_version + "\n";
  for (const Device* device : client.devices) {
    const backend::DeviceInfo& info = device->impl->info();
    text += "device " + std::to_string(info.id) + " process " + std::to_string(info.process_index) +
            " kind " + info.kind + "\n";
  }
  return text;
}

}  // namespace

Topology::Topology(Client* client) : client(client), serialized(Describe(*client)) {
  fingerprint = Fnv1a(serialized);
  for (Device* device : client->devices) descriptions.push_back(&device->description);
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

}  // namespace PJRT_PLUGIN_NS::plugin
