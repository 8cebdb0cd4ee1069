// Topologies without a client, and compiling for them.

#include "plugin/topology.h"

#include <string>
#include <utility>
#include <vector>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "plugin/topology_bytes.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

struct Created {
  PJRT_TopologyDescription* topology = nullptr;
  std::string error;
};

Created CreateTopology(const std::string& name, const std::vector<PJRT_NamedValue>& options = {}) {
  auto args = Make<PJRT_TopologyDescription_Create_Args>();
  args.topology_name = name.data();
  args.topology_name_size = name.size();
  args.create_options = const_cast<PJRT_NamedValue*>(options.data());
  args.num_options = options.size();
  Created created;
  created.error = Text(Api().PJRT_TopologyDescription_Create(&args));
  created.topology = args.topology;
  return created;
}

void DestroyTopology(PJRT_TopologyDescription* topology) {
  auto args = Make<PJRT_TopologyDescription_Destroy_Args>();
  args.topology = topology;
  EXPECT_EQ(Text(Api().PJRT_TopologyDescription_Destroy(&args)), "");
}

size_t NumDevices(PJRT_TopologyDescription* topology) {
  auto args = Make<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
  args.topology = topology;
  EXPECT_EQ(Text(Api().PJRT_TopologyDescription_GetDeviceDescriptions(&args)), "");
  return args.num_descriptions;
}

std::string Serialized(PJRT_TopologyDescription* topology) {
  auto args = Make<PJRT_TopologyDescription_Serialize_Args>();
  args.topology = topology;
  EXPECT_EQ(Text(Api().PJRT_TopologyDescription_Serialize(&args)), "");
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  args.serialized_topology_deleter(args.serialized_topology);
  return bytes;
}

PJRT_TopologyDescription* TopologyOf(const TestClient& client) {
  auto args = Make<PJRT_Client_TopologyDescription_Args>();
  args.client = client.client;
  EXPECT_EQ(Text(Api().PJRT_Client_TopologyDescription(&args)), "");
  return args.topology;
}

PJRT_Executable* CompileFor(PJRT_TopologyDescription* topology, std::string code,
                            std::string* error = nullptr) {
  auto program = Make<PJRT_Program>();
  program.code = code.data();
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  auto args = Make<PJRT_Compile_Args>();
  args.topology = topology;
  args.program = &program;
  const std::string text = Text(Api().PJRT_Compile(&args));
  if (error != nullptr) *error = text;
  return args.executable;
}

void DestroyExecutable(PJRT_Executable* executable) {
  auto args = Make<PJRT_Executable_Destroy_Args>();
  args.executable = executable;
  EXPECT_EQ(Text(Api().PJRT_Executable_Destroy(&args)), "");
}

TEST(TopologyWithoutClient, NeedsNoDevices) {
  Fake::Reset({.num_devices = 0});
  const Created created = CreateTopology("6");
  EXPECT_EQ(created.error, "");
  EXPECT_EQ(NumDevices(created.topology), size_t{6});
  auto version = Make<PJRT_TopologyDescription_PlatformVersion_Args>();
  version.topology = created.topology;
  EXPECT_EQ(Text(Api().PJRT_TopologyDescription_PlatformVersion(&version)), "");
  EXPECT_EQ(std::string(version.platform_version, version.platform_version_size), "fake 1");
  DestroyTopology(created.topology);
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}

TEST(TopologyWithoutClient, RefusesNamesAndOptionsThatMeanNothing) {
  Fake::Reset();
  EXPECT_CONTAINS(CreateTopology("nowhere").error, "3: fake topologies are numbers");
  PJRT_NamedValue option = {};
  option.struct_size = sizeof(option);
  option.name = "spede";
  option.name_size = 5;
  option.type = PJRT_NamedValue_kInt64;
  EXPECT_CONTAINS(CreateTopology("", {option}).error, "speed (a number)");
  auto args = Make<PJRT_TopologyDescription_Create_Args>();
  args.topology_name_size = 3;  // of no name
  EXPECT_CONTAINS(Text(Api().PJRT_TopologyDescription_Create(&args)), "topology_name");
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}

TEST(TopologyWithoutClient, IsThatOfAClientWithTheSameOptions) {
  Fake::Reset();
  TestClient client;
  const Created created = CreateTopology("");
  EXPECT_EQ(Serialized(created.topology), Serialized(TopologyOf(client)));
  DestroyTopology(created.topology);
  DestroyTopology(TopologyOf(client));  // does nothing: it is the client's
  EXPECT_EQ(NumDevices(TopologyOf(client)), size_t{4});
}

#if PJRT_SCAFFOLD_HAS_PJRT_TopologyDescription_Deserialize
Created Deserialize(const std::string& bytes) {
  auto args = Make<PJRT_TopologyDescription_Deserialize_Args>();
  args.serialized_topology = bytes.data();
  args.serialized_topology_size = bytes.size();
  Created created;
  created.error = Text(Api().PJRT_TopologyDescription_Deserialize(&args));
  created.topology = args.topology;
  return created;
}

TEST(TopologyBytes, ComeBackAsTheSameTopology) {
  Fake::Reset();
  const Created created = CreateTopology("3");
  const std::string bytes = Serialized(created.topology);
  DestroyTopology(created.topology);
  Fake::Reset({.num_devices = 0});
  const Created again = Deserialize(bytes);
  EXPECT_EQ(again.error, "");
  EXPECT_EQ(NumDevices(again.topology), size_t{3});
  EXPECT_EQ(Serialized(again.topology), bytes);
  auto devices = Make<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
  devices.topology = again.topology;
  EXPECT_EQ(Text(Api().PJRT_TopologyDescription_GetDeviceDescriptions(&devices)), "");
  auto attributes = Make<PJRT_DeviceDescription_Attributes_Args>();
  attributes.device_description = devices.descriptions[2];
  EXPECT_EQ(Text(Api().PJRT_DeviceDescription_Attributes(&attributes)), "");
  EXPECT_EQ(attributes.num_attributes, size_t{2});
  EXPECT_EQ(attributes.attributes[0].int64_array_value[0], int64_t{2});
  DestroyTopology(again.topology);
}

TEST(TopologyBytes, DamageIsAnError) {
  Fake::Reset();
  const Created created = CreateTopology("2");
  const std::string bytes = Serialized(created.topology);
  DestroyTopology(created.topology);
  EXPECT_CONTAINS(Deserialize("").error, "3: PJRT_TopologyDescription_Deserialize");
  EXPECT_CONTAINS(Deserialize("no topology").error, "are no topology of platform");
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Created cut = Deserialize(bytes.substr(0, size));
    EXPECT_CONTAINS(cut.error, "3: PJRT_TopologyDescription_Deserialize");
  }
  for (size_t at = 0; at < bytes.size(); ++at) {  // whatever comes of it, nothing breaks
    std::string changed = bytes;
    changed[at] = char(changed[at] ^ 0x55);
    const Created created = Deserialize(changed);
    if (created.error.empty()) DestroyTopology(created.topology);
  }
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}
#endif

TEST(CompileForTopology, ProgramsOutliveTheTopology) {
  Fake::Reset({.num_devices = 0});
  const Created created = CreateTopology("2");
  PJRT_Executable* inc = CompileFor(created.topology, "inc");
  std::string error;
  EXPECT_TRUE(CompileFor(created.topology, "broken", &error) == nullptr);
  EXPECT_CONTAINS(error, "PJRT_Compile: no such program");
  DestroyTopology(created.topology);
  auto name = Make<PJRT_Executable_Name_Args>();
  name.executable = inc;
  EXPECT_EQ(Text(Api().PJRT_Executable_Name(&name)), "");
  EXPECT_EQ(std::string(name.executable_name, name.executable_name_size), "inc");
  DestroyExecutable(inc);
  EXPECT_EQ(Fake::LiveDrivers(), 0);
  EXPECT_EQ(Fake::LiveExecutables(), 0);
}

#if PJRT_SCAFFOLD_HAS_PJRT_Client_Load
TEST(CompileForTopology, ClientsLoadAndRunThePrograms) {
  Fake::Reset();
  {
    const Created created = CreateTopology("2");
    PJRT_Executable* inc = CompileFor(created.topology, "inc");
    DestroyTopology(created.topology);
    TestClient client;
    auto load = Make<PJRT_Client_Load_Args>();
    load.client = client.client;
    load.executable = inc;
    EXPECT_EQ(Text(Api().PJRT_Client_Load(&load)), "");
    DestroyExecutable(inc);
    EXPECT_EQ(Fake::LiveDrivers(), 1);  // the client's own
    PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
    Execution run = Execute(load.loaded_executable, {{x}});
    EXPECT_EQ(run.error, "");
    EXPECT_EQ(Get<float>(run.outputs[0][0]), (std::vector<float>{2, 3, 4, 5}));
    Destroy(run);
    DestroyBuffer(x);
    DestroyLoaded(load.loaded_executable);
  }
  EXPECT_EQ(Fake::LiveDrivers(), 0);
  EXPECT_EQ(Fake::LiveExecutables(), 0);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_TopologyDescription_GetMemorySpaceKindIds
TEST(TopologyMemories, KindsAreThoseOfTheMemories) {
  Fake::Reset();
  TestClient client;
  const Created created = CreateTopology("");
  auto args = Make<PJRT_TopologyDescription_GetMemorySpaceKindIds_Args>();
  args.topology = created.topology;
  EXPECT_EQ(Text(Api().PJRT_TopologyDescription_GetMemorySpaceKindIds(&args)), "");
  ASSERT_TRUE(args.num_memory_space_kind_ids == 2);
  const char* const kinds[] = {"device", "pinned_host"};
  for (int i = 0; i < 2; ++i) {
    auto id = Make<PJRT_Memory_Kind_Id_Args>();
    id.memory = client.memory(0, kinds[i]);
    EXPECT_EQ(Text(Api().PJRT_Memory_Kind_Id(&id)), "");
    EXPECT_EQ(args.memory_space_kind_ids[i], id.kind_id);
  }
  DestroyTopology(created.topology);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace
// The bytes of the ShapeProto, or the error.
std::string CanonicalShape(PJRT_TopologyDescription* topology, int kind,
                           const std::vector<int64_t>& dims, PJRT_Buffer_Type type,
                           const PJRT_Buffer_MemoryLayout* layout = nullptr) {
  auto args = Make<PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args>();
  args.topology = topology;
  args.memory_space_kind_id = kind;
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.element_type = type;
  args.layout = layout;
  const std::string error =
      Text(Api().PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace(&args));
  if (!error.empty()) return error;
  std::string bytes(args.serialized_shape, args.serialized_shape_size);
  args.serialized_shape_deleter(args.serialized_shape);
  return bytes;
}

TEST(CanonicalShape, IsTheArrayAsItLies) {
  Fake::Reset();
  TestClient client;
  PJRT_TopologyDescription* topology = TopologyOf(client);
  const int kind = KindId("device");
  using namespace std::string_literals;
  EXPECT_EQ(CanonicalShape(topology, kind, {2, 300}, PJRT_Buffer_Type_F32),
            "\x10\x0b\x1a\x03\x02\xac\x02\x2a\x04\x0a\x02\x01\x00\x32\x02\x00\x00"s);
  EXPECT_EQ(CanonicalShape(topology, kind, {}, PJRT_Buffer_Type_C128),
            "\x10\x12\x1a\x00\x2a\x02\x0a\x00\x32\x00"s);
  EXPECT_CONTAINS(CanonicalShape(topology, 1, {2}, PJRT_Buffer_Type_F32),
                  "no memory of the topology is of kind 1");
  EXPECT_CONTAINS(CanonicalShape(topology, kind, {-2}, PJRT_Buffer_Type_F32), "negative");
  const int64_t columns[] = {0, 1};
  PJRT_Buffer_MemoryLayout layout = {};
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major = columns;
  layout.tiled.minor_to_major_size = 2;
  EXPECT_EQ(CanonicalShape(topology, kind, {2, 300}, PJRT_Buffer_Type_F32, &layout),
            "\x10\x0b\x1a\x03\x02\xac\x02\x2a\x04\x0a\x02\x00\x01\x32\x02\x00\x00"s);
  layout.tiled.num_tiles = 1;
  EXPECT_CONTAINS(CanonicalShape(topology, kind, {2, 3}, PJRT_Buffer_Type_F32, &layout), "12: ");
}
#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
