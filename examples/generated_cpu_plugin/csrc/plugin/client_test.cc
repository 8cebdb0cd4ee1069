#include "plugin/client.h"

#include <cstring>
#include <string>
#include <vector>

#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// pitfall 9: a function whose failure is fatal to frameworks answers UNIMPLEMENTED
TEST(Client, ListsDevicesAndMemories) {
  Fake::Reset();
  TestClient client;
  EXPECT_EQ(client.devices.size(), size_t{4});
  auto memories = Make<PJRT_Client_AddressableMemories_Args>();
  memories.client = client.client;
  EXPECT_EQ(Text(Api().PJRT_Client_AddressableMemories(&memories)), "");
  EXPECT_EQ(memories.num_addressable_memories, size_t{8});
  auto name = Make<PJRT_Client_PlatformName_Args>();
  name.client = client.client;
  (void)Api().PJRT_Client_PlatformName(&name);
  EXPECT_EQ(std::string(name.platform_name, name.platform_name_size), kPlatformName);
  auto version = Make<PJRT_Client_PlatformVersion_Args>();
  version.client = client.client;
  (void)Api().PJRT_Client_PlatformVersion(&version);
  EXPECT_EQ(std::string(version.platform_version, version.platform_version_size), "fake 1");
  auto process = Make<PJRT_Client_ProcessIndex_Args>();
  process.client = client.client;
  process.process_index = 9;
  (void)Api().PJRT_Client_ProcessIndex(&process);
  EXPECT_EQ(process.process_index, 0);
}

TEST(Client, WithoutDevicesThereIsNone) {
  Fake::Reset({.num_devices = 0});
  TestClient client;
  EXPECT_EQ(client.error, "14: no fake device");
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}

TEST(Client, LooksDevicesUp) {
  Fake::Reset();
  TestClient client;
  auto by_id = Make<PJRT_Client_LookupDevice_Args>();
  by_id.client = client.client;
  by_id.id = 2;
  EXPECT_EQ(Text(Api().PJRT_Client_LookupDevice(&by_id)), "");
  EXPECT_TRUE(by_id.device == client.device(2));
  by_id.id = 4;
  EXPECT_CONTAINS(Text(Api().PJRT_Client_LookupDevice(&by_id)), "no device with id 4");
  auto local = Make<PJRT_Client_LookupAddressableDevice_Args>();
  local.client = client.client;
  local.local_hardware_id = 3;
  EXPECT_EQ(Text(Api().PJRT_Client_LookupAddressableDevice(&local)), "");
  EXPECT_TRUE(local.addressable_device == client.device(3));
  local.local_hardware_id = -1;
  EXPECT_CONTAINS(Text(Api().PJRT_Client_LookupAddressableDevice(&local)), "hardware id -1");
}

TEST(Client, DefaultAssignmentIsInOrder) {
  Fake::Reset();
  TestClient client;
  int ids[4] = {9, 9, 9, 9};
  auto args = Make<PJRT_Client_DefaultDeviceAssignment_Args>();
  args.client = client.client;
  args.num_replicas = 2;
  args.num_partitions = 2;
  args.default_assignment_size = 4;
  args.default_assignment = ids;
  EXPECT_EQ(Text(Api().PJRT_Client_DefaultDeviceAssignment(&args)), "");
  EXPECT_EQ(ids[0] * 1000 + ids[1] * 100 + ids[2] * 10 + ids[3], 123);
  args.num_partitions = 3;
  EXPECT_CONTAINS(Text(Api().PJRT_Client_DefaultDeviceAssignment(&args)), "6 devices");
  args.num_partitions = 2;
  args.default_assignment = nullptr;
  EXPECT_CONTAINS(Text(Api().PJRT_Client_DefaultDeviceAssignment(&args)), "is null");
}

// pitfall 15: frameworks abort where a device does not tell its attributes
TEST(Device, DescribesItself) {
  Fake::Reset();
  TestClient client;
  auto description = Make<PJRT_Device_GetDescription_Args>();
  description.device = client.device(1);
  (void)Api().PJRT_Device_GetDescription(&description);
  auto id = Make<PJRT_DeviceDescription_Id_Args>();
  id.device_description = description.device_description;
  (void)Api().PJRT_DeviceDescription_Id(&id);
  EXPECT_EQ(id.id, 1);
  auto attributes = Make<PJRT_DeviceDescription_Attributes_Args>();
  attributes.device_description = description.device_description;
  (void)Api().PJRT_DeviceDescription_Attributes(&attributes);
  ASSERT_TRUE(attributes.num_attributes == 2);
  EXPECT_EQ(std::string(attributes.attributes[0].name), "coords");
  EXPECT_EQ(attributes.attributes[0].value_size, size_t{2});
  EXPECT_EQ(attributes.attributes[0].int64_array_value[0], 1);
  // JAX takes no bool here.
  EXPECT_EQ(int(attributes.attributes[1].type), int(PJRT_NamedValue_kInt64));
  EXPECT_EQ(attributes.attributes[1].int64_value, 1);
#if PJRT_SCAFFOLD_HAS_PJRT_Device_GetAttributes
  auto live = Make<PJRT_Device_GetAttributes_Args>();
  live.device = client.device(1);
  EXPECT_EQ(Text(Api().PJRT_Device_GetAttributes(&live)), "");
  EXPECT_EQ(live.num_attributes, size_t{2});
  ASSERT_TRUE(live.attributes_deleter != nullptr);
  live.attributes_deleter(live.device_attributes);
#endif
}

// pitfall 64: memory statistics are what lay in the struct before
TEST(Device, MemoryStatsWritesEveryField) {
  Fake::Reset();
  TestClient client;
  PJRT_Device_MemoryStats_Args args;
  std::memset(static_cast<void*>(&args), 0xab, sizeof(args));
  args.struct_size = sizeof(args);
  args.extension_start = nullptr;
  args.device = client.device(0);
  EXPECT_EQ(Text(Api().PJRT_Device_MemoryStats(&args)), "");
  EXPECT_EQ(args.bytes_in_use, 7);
  EXPECT_TRUE(args.bytes_limit_is_set);
  EXPECT_EQ(args.bytes_limit, 1000);
  EXPECT_FALSE(args.num_allocs_is_set);
  EXPECT_FALSE(args.pool_bytes_is_set);
  EXPECT_FALSE(args.peak_pool_bytes_is_set);
  EXPECT_FALSE(args.largest_free_block_bytes_is_set);
}

// pitfall 10: without memory spaces nothing runs at all
TEST(Memory, KindsAndDefault) {
  Fake::Reset();
  TestClient client;
  auto args = Make<PJRT_Device_DefaultMemory_Args>();
  args.device = client.device(2);
  (void)Api().PJRT_Device_DefaultMemory(&args);
  EXPECT_TRUE(args.memory == client.memory(2, "device"));
  auto devices = Make<PJRT_Memory_AddressableByDevices_Args>();
  devices.memory = client.memory(2, "pinned_host");
  (void)Api().PJRT_Memory_AddressableByDevices(&devices);
  ASSERT_TRUE(devices.num_devices == 1);
  EXPECT_TRUE(devices.devices[0] == client.device(2));
  EXPECT_EQ(KindId("device"), KindId("device"));
  EXPECT_NE(KindId("device"), KindId("pinned_host"));
}

#if PJRT_SCAFFOLD_HAS_PJRT_Memory_FunctionTable
TEST(Memory, KeepsUserData) {
  Fake::Reset();
  static int destroyed;
  destroyed = 0;
  const auto destroy = [](void* data) { destroyed += *static_cast<int*>(data); };
  int one = 1, ten = 10, key = 0, other_key = 0;
  {
    TestClient client;
    PJRT_Memory* memory = client.memory(0, "device");
    EXPECT_TRUE(memory->vtable->get_user_data(memory, &key) == nullptr);
    memory->vtable->set_user_data(memory, &key, &one, destroy);
    memory->vtable->set_user_data(memory, &other_key, &ten, nullptr);
    EXPECT_TRUE(memory->vtable->get_user_data(memory, &key) == &one);
    EXPECT_TRUE(memory->vtable->get_user_data(memory, &other_key) == &ten);
    memory->vtable->set_user_data(memory, &key, &ten, destroy);
    EXPECT_EQ(destroyed, 1);
  }
  EXPECT_EQ(destroyed, 11);
}
#endif

TEST(Topology, DescribesTheClient) {
  Fake::Reset();
  TestClient client;
  auto topology = Make<PJRT_Client_TopologyDescription_Args>();
  topology.client = client.client;
  EXPECT_EQ(Text(Api().PJRT_Client_TopologyDescription(&topology)), "");
  auto devices = Make<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
  devices.topology = topology.topology;
  EXPECT_EQ(Text(Api().PJRT_TopologyDescription_GetDeviceDescriptions(&devices)), "");
  EXPECT_EQ(devices.num_descriptions, size_t{4});
  auto bytes = Make<PJRT_TopologyDescription_Serialize_Args>();
  bytes.topology = topology.topology;
  EXPECT_EQ(Text(Api().PJRT_TopologyDescription_Serialize(&bytes)), "");
  EXPECT_CONTAINS(std::string(bytes.serialized_bytes, bytes.serialized_bytes_size), "fake 1");
  bytes.serialized_topology_deleter(bytes.serialized_topology);
}

// pitfall 6: without a StableHLO version to write for, frameworks send programs that are too new
// pitfall 9: a function whose failure is fatal to frameworks answers UNIMPLEMENTED
TEST(PluginAttributes, NameTheStablehloVersion) {
  auto args = Make<PJRT_Plugin_Attributes_Args>();
  EXPECT_EQ(Text(Api().PJRT_Plugin_Attributes(&args)), "");
  bool found = false;
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& value = args.attributes[i];
    if (std::string(value.name, value.name_size) != "stablehlo_current_version") continue;
    found = value.type == PJRT_NamedValue_kInt64List && value.value_size == 3 &&
            value.int64_array_value[1] == 13;
  }
  EXPECT_TRUE(found);
  auto initialize = Make<PJRT_Plugin_Initialize_Args>();
  EXPECT_EQ(Text(Api().PJRT_Plugin_Initialize(&initialize)), "");
  EXPECT_EQ(Text(Api().PJRT_Plugin_Initialize(&initialize)), "");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
