// Topologies without a client: devices to compile for that need not be there. Behind each stands a
// client of its own that no caller sees, over a driver that only describes and compiles.

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "plugin/client.h"
#include "plugin/error.h"
#include "plugin/layer.h"
#include "plugin/options.h"
#include "plugin/topology_bytes.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// The handle that the caller of the C API owns; it holds the client.
Result<PJRT_TopologyDescription*> NewTopology(backend::DriverOptions options,
                                              backend::TopologyRequest request) {
  options.topology = std::move(request);
  PJRT_PLUGIN_ASSIGN_OR_RETURN(std::shared_ptr<Client> client, Client::Create(options));
  client->held_by_caller = client;
  return ToC(client->topology.get());
}

}  // namespace

PJRT_Error* Layer::TopologyDescription_Create(PJRT_TopologyDescription_Create_Args* args) {
  constexpr char kFunction[] = "PJRT_TopologyDescription_Create";
  PJRT_PLUGIN_RETURN_IF_C_ERROR(
      CheckPointer(args->topology_name, args->topology_name_size, "topology_name", kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(backend::DriverOptions options,
                                 ReadCreateOptions(args->create_options, args->num_options));
  backend::TopologyRequest request;
  request.name.assign(args->topology_name, args->topology_name_size);
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(args->topology,
                                 NewTopology(std::move(options), std::move(request)));
  return nullptr;
}

PJRT_Error* Layer::TopologyDescription_Destroy(PJRT_TopologyDescription_Destroy_Args* args) {
  Client* const client = FromC(args->topology)->client;
  // The topology of a client that callers see goes with that client.
  if (!client->compile_only) return nullptr;
  const std::shared_ptr<Client> last = std::move(client->held_by_caller);
  return nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_TopologyDescription_Deserialize
PJRT_Error* Layer::TopologyDescription_Deserialize(
    PJRT_TopologyDescription_Deserialize_Args* args) {
  constexpr char kFunction[] = "PJRT_TopologyDescription_Deserialize";
  PJRT_PLUGIN_RETURN_IF_C_ERROR(CheckPointer(
      args->serialized_topology, args->serialized_topology_size, "serialized_topology", kFunction));
  backend::TopologyRequest request;
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      request.devices,
      ReadTopology({args->serialized_topology, args->serialized_topology_size}, kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(backend::DriverOptions options, ReadCreateOptions(nullptr, 0));
  // Of the processes in it the first stands for all: theirs are the memories that are described.
  options.process_index = request.devices.front().process_index;
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(args->topology,
                                 NewTopology(std::move(options), std::move(request)));
  return nullptr;
}
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
