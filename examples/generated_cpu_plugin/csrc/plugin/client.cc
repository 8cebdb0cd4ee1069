#include "plugin/client.h"

#include <algorithm>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/completion.h"
#include "plugin/ffi_handlers.h"
#include "plugin/key_value_store.h"
#include "plugin/layer.h"
#include "plugin/options.h"
#include "plugin/profiler.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// A callback may let go of the last buffer, on a worker of the driver. The driver's destructor
// waits for its workers, so it must not run there.
void DestroyClient(Client* client) {
  if (!backend::RunningCallbacks()) {
    delete client;
    return;
  }
  try {
    std::thread([client] { delete client; }).detach();
  } catch (const std::exception&) {
    // No thread to be had: the client stays until the process ends.
  }
}

Result<std::shared_ptr<Client>> CreateClient(const PJRT_Client_Create_Args& args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::DriverOptions options,
                               ReadCreateOptions(args.create_options, args.num_options));
  // A lone process gets garbage in the callbacks, so nobody may look at them.
  if (options.num_processes > 1) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(options.store, MakeKeyValueStore(args));
  }
  return Client::Create(options);
}

}  // namespace

Result<std::shared_ptr<Client>> Client::Create(const backend::DriverOptions& options) {
  WatchForks();
  std::shared_ptr<Client> client(new Client, DestroyClient);
  client->fork_generation = ForkGeneration();
  backend::DriverOptions all = options;
  all.custom_calls = RegisteredCustomCalls();
  all.recorder = &Profiler::Get();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(client->driver, backend::CreateDriver(all));
  client->process_index = options.process_index;
  client->compile_only = options.topology.has_value();
  PJRT_PLUGIN_RETURN_IF_ERROR(client->Build());
  return client;
}

// The handles, and what frameworks take for granted of a backend: they abort where it does not
// hold.
Status Client::Build() {
  platform_version = driver->platform_version();
  for (backend::Memory* impl : driver->memories()) {
    owned_memories.push_back(std::make_unique<Memory>(this, impl));
    memories.push_back(owned_memories.back().get());
  }
  for (backend::Device* impl : driver->devices()) {
    const bool addressable = impl->info().process_index == process_index;
    owned_devices.push_back(std::make_unique<Device>(this, impl, addressable));
    Device* device = owned_devices.back().get();
    devices.push_back(device);
    if (!addressable) continue;
    addressable_devices.push_back(device);
    for (const backend::Memory* memory : impl->memories()) {
      Memory* handle = FindMemory(memory);
      const std::string where = "device " + std::to_string(impl->info().id);
      if (handle == nullptr)
        return Internal(where + " lists a memory that its driver does not list");
      if (device->FindMemory(memory->info().kind) != nullptr) {
        return Internal(where + " lists two memories of kind " + memory->info().kind +
                        "; frameworks take one of each kind");
      }
      device->description.memories.push_back(handle);
    }
    if (device->memories().empty()) {
      return Internal("device " + std::to_string(impl->info().id) +
                      " lists no memory; it needs one of kind \"device\"");
    }
  }
  if (addressable_devices.empty()) {
    return Status(Code::kUnavailable, "PJRT_Client_Create: the " + std::string(kPlatformName) +
                                          " driver found no device for this process");
  }
  for (size_t i = 1; i < devices.size(); ++i) {
    if (devices[i - 1]->impl->info().id >= devices[i]->impl->info().id) {
      return Internal("the driver's devices are not listed by ascending id");
    }
  }
  for (Memory* memory : memories) {
    for (const backend::Device* impl : memory->impl->devices()) {
      if (Device* device = FindDevice(impl)) memory->devices.push_back(device);
    }
    if (memory->devices.empty()) {
      return Internal("memory " + memory->impl->info().debug_string +
                      " is not addressable by any device of its driver");
    }
  }
  topology = std::make_unique<Topology>(this);
  return Status();
}

Client::~Client() {
  // In a forked child the driver's threads do not exist: a destructor that joins them would never
  // return.
  if (fork_generation != ForkGeneration()) {
    (void)driver.release();
    return;
  }
  if (driver != nullptr) mapped_memory.UnmapAll(*driver);
}

Device* Client::FindDevice(int id) const {
  auto at = std::lower_bound(devices.begin(), devices.end(), id, [](const Device* device, int id) {
    return device->impl->info().id < id;
  });
  return at != devices.end() && (*at)->impl->info().id == id ? *at : nullptr;
}

Device* Client::FindDevice(const backend::Device* impl) const {
  for (Device* device : devices) {
    if (device->impl == impl) return device;
  }
  return nullptr;
}

Memory* Client::FindMemory(const backend::Memory* impl) const {
  for (Memory* memory : memories) {
    if (memory->impl == impl) return memory;
  }
  return nullptr;
}

PJRT_Error* Layer::Client_Create(PJRT_Client_Create_Args* args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(std::shared_ptr<Client> client, CreateClient(*args));
  args->client = ToC(client.get());
  client->held_by_caller = client;
  return nullptr;
}

PJRT_Error* Layer::Client_Destroy(PJRT_Client_Destroy_Args* args) {
  std::shared_ptr<Client> last = std::move(FromC(args->client)->held_by_caller);
  return nullptr;
}

PJRT_Error* Layer::Client_PlatformName(PJRT_Client_PlatformName_Args* args) {
  args->platform_name = kPlatformName;
  args->platform_name_size = std::char_traits<char>::length(kPlatformName);
  return nullptr;
}

PJRT_Error* Layer::Client_ProcessIndex(PJRT_Client_ProcessIndex_Args* args) {
  args->process_index = FromC(args->client)->process_index;
  return nullptr;
}

PJRT_Error* Layer::Client_PlatformVersion(PJRT_Client_PlatformVersion_Args* args) {
  const std::string& version = FromC(args->client)->platform_version;
  args->platform_version = version.data();
  args->platform_version_size = version.size();
  return nullptr;
}

PJRT_Error* Layer::Client_Devices(PJRT_Client_Devices_Args* args) {
  const std::vector<Device*>& devices = FromC(args->client)->devices;
  args->devices = reinterpret_cast<PJRT_Device* const*>(devices.data());
  args->num_devices = devices.size();
  return nullptr;
}

PJRT_Error* Layer::Client_AddressableDevices(PJRT_Client_AddressableDevices_Args* args) {
  const std::vector<Device*>& devices = FromC(args->client)->addressable_devices;
  args->addressable_devices = reinterpret_cast<PJRT_Device* const*>(devices.data());
  args->num_addressable_devices = devices.size();
  return nullptr;
}

PJRT_Error* Layer::Client_AddressableMemories(PJRT_Client_AddressableMemories_Args* args) {
  const std::vector<Memory*>& memories = FromC(args->client)->memories;
  args->addressable_memories = reinterpret_cast<PJRT_Memory* const*>(memories.data());
  args->num_addressable_memories = memories.size();
  return nullptr;
}

PJRT_Error* Layer::Client_LookupDevice(PJRT_Client_LookupDevice_Args* args) {
  const Client* client = FromC(args->client);
  Device* device = client->FindDevice(args->id);
  if (device == nullptr) {
    return MakeError(InvalidArgument(
        "PJRT_Client_LookupDevice: there is no device with id " + std::to_string(args->id) +
        "; the client has " + std::to_string(client->devices.size()) + " devices, with ids from " +
        std::to_string(client->devices.front()->impl->info().id) + " to " +
        std::to_string(client->devices.back()->impl->info().id)));
  }
  args->device = ToC(device);
  return nullptr;
}

PJRT_Error* Layer::Client_LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args* args) {
  const Client* client = FromC(args->client);
  for (Device* device : client->addressable_devices) {
    if (device->impl->info().local_hardware_id != args->local_hardware_id) continue;
    args->addressable_device = ToC(device);
    return nullptr;
  }
  return MakeError(InvalidArgument(
      "PJRT_Client_LookupAddressableDevice: no device of this process has local hardware id " +
      std::to_string(args->local_hardware_id) + "; it has " +
      std::to_string(client->addressable_devices.size()) + " devices"));
}

PJRT_Error* Layer::Client_DefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args* args) {
  const Client* client = FromC(args->client);
  const int64_t wanted = int64_t(args->num_replicas) * args->num_partitions;
  if (args->num_replicas < 1 || args->num_partitions < 1 ||
      wanted > int64_t(client->devices.size())) {
    return MakeError(InvalidArgument(
        "PJRT_Client_DefaultDeviceAssignment: " + std::to_string(args->num_replicas) +
        " replicas of " + std::to_string(args->num_partitions) + " partitions need " +
        std::to_string(wanted) + " devices; the client has " +
        std::to_string(client->devices.size())));
  }
  if (int64_t(args->default_assignment_size) < wanted) {
    return MakeError(
        InvalidArgument("PJRT_Client_DefaultDeviceAssignment: default_assignment_size is " +
                        std::to_string(args->default_assignment_size) + "; it must be at least " +
                        std::to_string(wanted)));
  }
  PJRT_PLUGIN_RETURN_IF_C_ERROR(CheckPointer(args->default_assignment, size_t(wanted) * sizeof(int),
                                             "default_assignment",
                                             "PJRT_Client_DefaultDeviceAssignment"));
  for (int64_t i = 0; i < wanted; ++i) {
    args->default_assignment[i] = client->devices[i]->impl->info().id;
  }
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::plugin
