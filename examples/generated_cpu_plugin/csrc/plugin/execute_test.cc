#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "plugin/api_test_util.h"
#include "plugin/compile_options.h"
#include "plugin/executable.h"
#include "plugin/fake_backend_test_util.h"
#include "plugin/proto.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using Floats = std::vector<float>;

PJRT_Executable* GetExecutable(PJRT_LoadedExecutable* loaded) {
  auto args = Make<PJRT_LoadedExecutable_GetExecutable_Args>();
  args.loaded_executable = loaded;
  (void)Api().PJRT_LoadedExecutable_GetExecutable(&args);
  return args.executable;
}

void DestroyExecutable(PJRT_Executable* executable) {
  auto args = Make<PJRT_Executable_Destroy_Args>();
  args.executable = executable;
  (void)Api().PJRT_Executable_Destroy(&args);
}

TEST(Compile, ErrorsComeThrough) {
  Fake::Reset();
  TestClient client;
  EXPECT_TRUE(client.Compile("broken") == nullptr);
  EXPECT_EQ(client.error, "3: PJRT_Client_Compile: no such program");
  EXPECT_TRUE(client.Compile("psum", 5) == nullptr);
  EXPECT_CONTAINS(client.error, "device 4, which the client does not have");
}

TEST(Compile, OptionsMayBeNoneButNotNonsense) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.CompileWith("inc", {});
  EXPECT_EQ(client.error, "");
  DestroyLoaded(inc);
  auto program = Make<PJRT_Program>();
  std::string code = "inc";
  program.code = code.data();
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  auto args = Make<PJRT_Client_Compile_Args>();
  args.client = client.client;
  args.program = &program;
  args.compile_options_size = 7;
  EXPECT_CONTAINS(Text(Api().PJRT_Client_Compile(&args)), "compile_options is null, but it should");
  EXPECT_TRUE(client.CompileWith("inc", "nonsense") == nullptr);
  EXPECT_CONTAINS(client.error, "3: PJRT_Client_Compile: the compile options are no Compile");
}

TEST(Execute, OneDevice) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* add = client.Compile("add");
  PJRT_Buffer* x = client.Put<float>({2}, {});
  PJRT_Buffer* y = client.Put<float>({3}, {});
  Execution run = Execute(add, {{x, y}});
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(Get<float>(run.outputs[0][0]), Floats{5});
  EXPECT_TRUE(IsReady(run.done[0]));
  Execution twice = Execute(add, {{x, x}});  // one buffer in two places
  EXPECT_EQ(Get<float>(twice.outputs[0][0]), Floats{4});
  Destroy(run);
  Destroy(twice);
  DestroyBuffer(x);
  DestroyBuffer(y);
  DestroyLoaded(add);
}

TEST(Execute, SeveralDevices) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_LoadedExecutable* psum = client.Compile("psum", 4);
  std::vector<std::vector<PJRT_Buffer*>> arguments;
  for (int d = 0; d < 4; ++d) arguments.push_back({client.Put<float>({float(d), 1}, {2}, d)});
  Execution run = Execute(psum, arguments, 1, {0});
  EXPECT_EQ(run.error, "");
  EXPECT_FALSE(IsReady(run.done[0]));
  for (int d = 0; d < 4; ++d) {
    EXPECT_EQ(Get<float>(run.outputs[d][0]), (Floats{6.0f + float(d), 5}));
    auto device = Make<PJRT_Buffer_Device_Args>();
    device.buffer = run.outputs[d][0];
    (void)Api().PJRT_Buffer_Device(&device);
    EXPECT_TRUE(device.device == client.device(d));
    DestroyBuffer(arguments[d][0]);
  }
  Destroy(run);
  DestroyLoaded(psum);
}

// PyTorch/XLA compiles for all devices and starts them one by one.
TEST(Execute, OneOfSeveralDevices) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc", 2);
  for (int d : {1, 0}) {
    PJRT_Buffer* x = client.Put<float>({1, 2, 3, float(d)}, {4}, d);
    Execution run = Execute(inc, {{x}}, 1, {0}, client.device(d));
    EXPECT_EQ(run.error, "");
    EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, float(d) + 1}));
    EXPECT_CONTAINS(Execute(inc, {{x}}, 1, {}, client.device(2)).error,
                    "execute_device is device 2, for which inc was not compiled");
    Destroy(run);
    DestroyBuffer(x);
  }
  DestroyLoaded(inc);
  PJRT_LoadedExecutable* psum = client.Compile("psum", 2);
  PJRT_Buffer* x = client.Put<float>({1, 2}, {2});
  EXPECT_CONTAINS(Execute(psum, {{x}}, 1, {}, client.device(0)).error, "wait for each other");
  DestroyBuffer(x);
  DestroyLoaded(psum);
}

TEST(Execute, RefusesWrongArguments) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* good = client.Put<float>({1, 2, 3, 4}, {4});
  PJRT_Buffer* short_one = client.Put<float>({1, 2}, {2});
  PJRT_Buffer* integers = client.Put<int32_t>({1, 2, 3, 4}, {4});
  PJRT_Buffer* elsewhere = client.Put<float>({1, 2, 3, 4}, {4}, 1);
  EXPECT_CONTAINS(Execute(inc, {{}}).error, "takes 1 arguments, but num_args is 0");
  EXPECT_CONTAINS(Execute(inc, {{good}, {good}}).error, "runs on 1 devices");
  EXPECT_CONTAINS(Execute(inc, {{nullptr}}).error, "argument 0 of inc is null");
  EXPECT_CONTAINS(Execute(inc, {{short_one}}).error, "is f32[2], but the program takes f32[4]");
  EXPECT_CONTAINS(Execute(inc, {{integers}}).error, "is i32[4]");
  EXPECT_CONTAINS(Execute(inc, {{elsewhere}}).error, "on device 1");
  TestClient other;
  PJRT_Buffer* foreign = other.Put<float>({1, 2, 3, 4}, {4});
  EXPECT_CONTAINS(Execute(inc, {{foreign}}).error, "belongs to another client");
  auto lists = Make<PJRT_LoadedExecutable_Execute_Args>();
  auto options = Make<PJRT_ExecuteOptions>();
  lists.executable = inc;
  lists.options = &options;
  lists.num_devices = 1;
  lists.num_args = 1;
  EXPECT_CONTAINS(Text(Api().PJRT_LoadedExecutable_Execute(&lists)), "argument_lists is null");
  PJRT_Buffer* const* none[] = {nullptr};
  lists.argument_lists = none;
  EXPECT_CONTAINS(Text(Api().PJRT_LoadedExecutable_Execute(&lists)), "argument_lists is null, or");
  PJRT_Buffer* const* one[] = {&good};
  lists.argument_lists = one;
  EXPECT_CONTAINS(Text(Api().PJRT_LoadedExecutable_Execute(&lists)), "output_lists is null");
  PJRT_Buffer* output = nullptr;
  PJRT_Buffer** outputs[] = {&output};
  lists.output_lists = outputs;
  options.num_non_donatable_input_indices = 1;
  EXPECT_CONTAINS(Text(Api().PJRT_LoadedExecutable_Execute(&lists)), "indices is null");
  PJRT_LoadedExecutable* psum = client.Compile("psum", 2);
  EXPECT_CONTAINS(Execute(psum, {{good}}, 1, {}, client.device(0)).error,
                  "psum was compiled for 2 devices");
  DestroyLoaded(psum);
  auto args = Make<PJRT_Buffer_Delete_Args>();
  args.buffer = good;
  (void)Api().PJRT_Buffer_Delete(&args);
  EXPECT_CONTAINS(Execute(inc, {{good}}).error, "argument 0 of inc: ");
  EXPECT_EQ(Fake::Launches(), 0);
  for (PJRT_Buffer* buffer : {good, short_one, integers, elsewhere, foreign}) DestroyBuffer(buffer);
  DestroyLoaded(inc);
}

// pitfall 67: donation copies in silence
TEST(Donation, GivesTheBlockAway) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Execution run = Execute(inc, {{x}});
  EXPECT_EQ(run.error, "");
  EXPECT_TRUE(IsDeleted(x));
  EXPECT_EQ(Fake::BlocksReused(), 1);
  EXPECT_EQ(Fake::LiveBlocks(), 1);
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  EXPECT_CONTAINS(Execute(inc, {{x}}).error, "deleted or donated");
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

TEST(Donation, NotWhenTheCallerSaysSo) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Execution run = Execute(inc, {{x}}, 1, {0});
  EXPECT_FALSE(IsDeleted(x));
  EXPECT_EQ(Get<float>(x), (Floats{1, 2, 3, 4}));
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

TEST(Donation, NotWhenSomebodyOutsideLooks) {
  Fake::Reset({.host_accessible = true});
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  auto add = Make<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
  add.buffer = x;
  (void)Api().PJRT_Buffer_IncreaseExternalReferenceCount(&add);
  Execution run = Execute(inc, {{x}});
  EXPECT_FALSE(IsDeleted(x));
  EXPECT_EQ(Fake::BlocksReused(), 0);
  auto drop = Make<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
  drop.buffer = x;
  (void)Api().PJRT_Buffer_DecreaseExternalReferenceCount(&drop);
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

TEST(Donation, AFailedLaunchLeavesTheInputsAlive) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* refuse = client.Compile("refuse");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  EXPECT_CONTAINS(Execute(refuse, {{x}}).error, "8: refuse: no room to run");
  EXPECT_FALSE(IsDeleted(x));
  EXPECT_EQ(Get<float>(x), (Floats{1, 2, 3, 4}));
  DestroyBuffer(x);
  DestroyLoaded(refuse);
}

TEST(Donation, WaitsForReadersOfTheBlock) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Fake::RunQueued();
  auto late = Make<PJRT_Buffer_CopyToMemory_Args>();
  late.buffer = x;
  late.dst_memory = client.memory(1, "device");
  EXPECT_EQ(Text(Api().PJRT_Buffer_CopyToMemory(&late)), "");
  Execution run = Execute(inc, {{x}});
  EXPECT_TRUE(IsDeleted(x));
  EXPECT_EQ(Get<float>(late.dst_buffer), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  DestroyBuffer(late.dst_buffer);
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

TEST(Failure, MistakesOfABackendAreErrors) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  PJRT_LoadedExecutable* hollow = client.Compile("hollow");
  EXPECT_CONTAINS(Execute(hollow, {{x}}, 1, {0}).error, "13: PJRT_LoadedExecutable_Execute: the b");
  PJRT_LoadedExecutable* throwing = client.Compile("throw");
  EXPECT_CONTAINS(Execute(throwing, {{x}}).error, "the backend threw");
  EXPECT_EQ(Get<float>(x), (Floats{1, 2, 3, 4}));
  DestroyLoaded(throwing);
  DestroyLoaded(hollow);
  DestroyBuffer(x);
  EXPECT_EQ(Fake::LiveBlocks(), 0);
}

TEST(Failure, PoisonsOutputsAndWhatUsesThem) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_LoadedExecutable* late = client.Compile("late");
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Execution failing = Execute(late, {{x}});
  EXPECT_EQ(failing.error, "");
  Execution before = Execute(inc, {{failing.outputs[0][0]}}, 1, {0});  // not known yet
  Fake::RunQueued();
  Execution after = Execute(inc, {{failing.outputs[0][0]}});  // known
  std::string error;
  GetBytes(failing.outputs[0][0], &error);
  EXPECT_EQ(error, "13: it broke while running");
  for (const Execution* run : {&before, &after}) {
    EXPECT_EQ(run->error, "");
    GetBytes(run->outputs[0][0], &error);
    EXPECT_EQ(error, "13: it broke while running");
    EXPECT_TRUE(IsReady(run->done[0]));
  }
  EXPECT_FALSE(IsDeleted(failing.outputs[0][0]));
  for (const Execution* run : {&failing, &before, &after}) Destroy(*run);
  DestroyBuffer(x);
  DestroyLoaded(late);
  DestroyLoaded(inc);
  EXPECT_EQ(Fake::LiveBlocks(), 0);
}

TEST(Portable, RunsWhereTheCallerSays) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.CompileWith("inc", "\x20\x01");
  EXPECT_EQ(client.error, "");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4}, 2);
  EXPECT_CONTAINS(Execute(inc, {{x}}).error, "execute_device");
  Execution run = Execute(inc, {{x}}, 1, {}, client.device(2));
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

// pitfall 7: frameworks crash where the device assignment of an executable is missing
// pitfall 13: copies between devices and memory analysis jump to null
TEST(Executable, AnswersQuestions) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* psum = client.Compile("psum", 2);
  PJRT_Executable* executable = GetExecutable(psum);
  auto name = Make<PJRT_Executable_Name_Args>();
  name.executable = executable;
  (void)Api().PJRT_Executable_Name(&name);
  EXPECT_EQ(std::string(name.executable_name, name.executable_name_size), "psum");
  auto partitions = Make<PJRT_Executable_NumPartitions_Args>();
  partitions.executable = executable;
  (void)Api().PJRT_Executable_NumPartitions(&partitions);
  EXPECT_EQ(partitions.num_partitions, size_t{2});
  auto dims = Make<PJRT_Executable_OutputDimensions_Args>();
  dims.executable = executable;
  (void)Api().PJRT_Executable_OutputDimensions(&dims);
  ASSERT_TRUE(dims.num_outputs == 1 && dims.dim_sizes[0] == 1);
  EXPECT_EQ(dims.dims[0], 2);
  auto kinds = Make<PJRT_Executable_OutputMemoryKinds_Args>();
  kinds.executable = executable;
  (void)Api().PJRT_Executable_OutputMemoryKinds(&kinds);
  EXPECT_EQ(std::string(kinds.memory_kinds[0], kinds.memory_kind_sizes[0]), "device");
  auto print = Make<PJRT_Executable_Fingerprint_Args>();
  print.executable = executable;
  (void)Api().PJRT_Executable_Fingerprint(&print);
  EXPECT_EQ(std::string(print.executable_fingerprint, print.executable_fingerprint_size),
            "print of psum");
  auto costs = Make<PJRT_Executable_GetCostAnalysis_Args>();
  costs.executable = executable;
  (void)Api().PJRT_Executable_GetCostAnalysis(&costs);
  ASSERT_TRUE(costs.num_properties == 1);
  EXPECT_EQ(costs.properties[0].float_value, 4.0f);
  auto stats = Make<PJRT_Executable_GetCompiledMemoryStats_Args>();
  stats.executable = executable;
  (void)Api().PJRT_Executable_GetCompiledMemoryStats(&stats);
  EXPECT_EQ(stats.argument_size_in_bytes, 8);
  EXPECT_EQ(stats.alias_size_in_bytes, 8);
  auto text = Make<PJRT_Executable_OptimizedProgram_Args>();
  auto program = Make<PJRT_Program>();
  text.executable = executable;
  text.program = &program;
  EXPECT_CONTAINS(Text(Api().PJRT_Executable_OptimizedProgram(&text)), "12: ");
  auto devices = Make<PJRT_LoadedExecutable_AddressableDevices_Args>();
  devices.executable = psum;
  (void)Api().PJRT_LoadedExecutable_AddressableDevices(&devices);
  ASSERT_TRUE(devices.num_addressable_devices == 2);
  EXPECT_TRUE(devices.addressable_devices[1] == client.device(1));
#if PJRT_SCAFFOLD_HAS_PJRT_LoadedExecutable_GetDeviceAssignment
  auto assignment = Make<PJRT_LoadedExecutable_GetDeviceAssignment_Args>();
  assignment.executable = psum;
  (void)Api().PJRT_LoadedExecutable_GetDeviceAssignment(&assignment);
  EXPECT_EQ(std::string(assignment.serialized_bytes, assignment.serialized_bytes_size),
            std::string("\x08\x01\x10\x02\x1a\x03\x0a\x01\x00\x1a\x03\x0a\x01\x01", 14));
  assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_LoadedExecutable_AddressableDeviceLogicalIds
  auto ids = Make<PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args>();
  ids.executable = psum;
  (void)Api().PJRT_LoadedExecutable_AddressableDeviceLogicalIds(&ids);
  ASSERT_TRUE(ids.num_addressable_device_logical_ids == 2);
  EXPECT_EQ(ids.addressable_device_logical_ids[1].partition, 1);
#endif
  DestroyExecutable(executable);
  DestroyLoaded(psum);
}

template <typename Extension>
const Extension* Find(PJRT_Extension_Type type) {
  for (auto* node = Api().extension_start; node != nullptr; node = node->next) {
    if (node->type == type) return reinterpret_cast<const Extension*>(node);
  }
  return nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_Layouts_Extension
TEST(Extensions, LayoutsAreRowMajor) {
  Fake::Reset();
  TestClient client;
  const auto* layouts = Find<PJRT_Layouts_Extension>(PJRT_Extension_Type_Layouts);
  ASSERT_TRUE(layouts != nullptr);
  PJRT_Buffer* x = client.Put<float>({1, 2}, {1, 2, 1});
  auto of = Make<PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args>();
  of.buffer = x;
  EXPECT_EQ(Text(layouts->PJRT_Layouts_PJRT_Buffer_MemoryLayout(&of)), "");
  auto text = Make<PJRT_Layouts_MemoryLayout_Serialize_Args>();
  text.layout = of.layout;
  EXPECT_EQ(Text(layouts->PJRT_Layouts_MemoryLayout_Serialize(&text)), "");
  EXPECT_EQ(std::string(text.serialized_bytes, text.serialized_bytes_size), "{2,1,0}");
  text.serialized_layout_deleter(text.serialized_layout);
  auto destroy = Make<PJRT_Layouts_MemoryLayout_Destroy_Args>();
  destroy.layout = of.layout;
  EXPECT_EQ(Text(layouts->PJRT_Layouts_MemoryLayout_Destroy(&destroy)), "");
  DestroyBuffer(x);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Shardings_Extension
// pitfall 71: programs of several devices abort, or know no shardings
TEST(Extensions, ShardingsWhereTheyAreKnown) {
  Fake::Reset();
  TestClient client;
  const auto* shardings = Find<PJRT_Shardings_Extension>(PJRT_Extension_Type_Shardings);
  ASSERT_TRUE(shardings != nullptr);
  for (const char* code : {"inc", "psum"}) {
    const bool known = code == std::string("psum");
    PJRT_LoadedExecutable* loaded = client.Compile(code, known ? 2 : 1);
    PJRT_Executable* executable = GetExecutable(loaded);
    auto args = Make<PJRT_Shardings_PJRT_Executable_OutputShardings_Args>();
    args.executable = executable;
    EXPECT_EQ(Text(shardings->PJRT_Shardings_PJRT_Executable_OutputShardings(&args)), "");
    EXPECT_EQ(args.num_outputs, size_t{1});
    EXPECT_EQ(args.shardings != nullptr, known);
    if (known) EXPECT_EQ(args.sharding_sizes[0], size_t{9});
    DestroyExecutable(executable);
    DestroyLoaded(loaded);
  }
}
#endif

// pitfall 68: a program from a cache runs on the devices that it was compiled for first
TEST(Serialize, GoesThereAndBack) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Executable* executable = GetExecutable(inc);
  auto bytes = Make<PJRT_Executable_Serialize_Args>();
  bytes.executable = executable;
  EXPECT_EQ(Text(Api().PJRT_Executable_Serialize(&bytes)), "");
  auto load = Make<PJRT_Executable_DeserializeAndLoad_Args>();
  load.client = client.client;
  load.serialized_executable = bytes.serialized_bytes;
  load.serialized_executable_size = bytes.serialized_bytes_size;
  EXPECT_EQ(Text(Api().PJRT_Executable_DeserializeAndLoad(&load)), "");
  PJRT_LoadedExecutable* const loaded = load.loaded_executable;
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Execution run = Execute(loaded, {{x}});
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  // A cache on a disk that was full, and one whose disk is ill.
  for (size_t size = 0; size < bytes.serialized_bytes_size; ++size) {
    PJRT_Executable_DeserializeAndLoad_Args cut = load;
    cut.serialized_executable_size = size;
    EXPECT_CONTAINS(Text(Api().PJRT_Executable_DeserializeAndLoad(&cut)), "3: ");
    std::string damaged(bytes.serialized_bytes, bytes.serialized_bytes_size);
    damaged[size] ^= 0x10;
    cut.serialized_executable = damaged.data();
    cut.serialized_executable_size = damaged.size();
    EXPECT_CONTAINS(Text(Api().PJRT_Executable_DeserializeAndLoad(&cut)), "3: ");
  }
#if PJRT_SCAFFOLD_HAS_PJRT_Executable_DeserializeAndLoad_Args_overridden_serialized_compile_options
  // A cache gives the program to whoever wants it, on a device of his own.
  std::string build, elsewhere;
  PutBytes(9, WriteDeviceAssignment({{3}}), &build);
  PutBytes(3, build, &elsewhere);
  load.overridden_serialized_compile_options = elsewhere.data();
  load.overridden_serialized_compile_options_size = elsewhere.size();
  EXPECT_EQ(Text(Api().PJRT_Executable_DeserializeAndLoad(&load)), "");
  PJRT_Buffer* there = client.Put<float>({1, 2, 3, 4}, {4}, 3);
  EXPECT_CONTAINS(Execute(load.loaded_executable, {{x}}).error, "takes it on device 3");
  Execution moved = Execute(load.loaded_executable, {{there}});
  EXPECT_EQ(Get<float>(moved.outputs[0][0]), (Floats{2, 3, 4, 5}));
  Destroy(moved);
  DestroyBuffer(there);
  DestroyLoaded(load.loaded_executable);
  // Options for another number of devices than the program was compiled for.
  const std::string two = SerializedOptions(2);
  load.overridden_serialized_compile_options = two.data();
  load.overridden_serialized_compile_options_size = two.size();
  EXPECT_CONTAINS(
      Text(Api().PJRT_Executable_DeserializeAndLoad(&load)),
      "for 1 replicas of 1 partitions, but the compile options are for 1 replicas of 2");
#endif
  bytes.serialized_executable_deleter(bytes.serialized_executable);
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(loaded);
  DestroyExecutable(executable);
  DestroyLoaded(inc);
}

// Client, loaded executable, executable, buffers and events may be destroyed in any order.
// pitfall 48: buffers are destroyed after their client, or while it goes
// pitfall 81: what was compiled for a program stays when the program goes
TEST(Lifetime, EveryOrder) {
  std::vector<int> order = {0, 1, 2, 3, 4, 5};
  do {
    Fake::Reset({.manual = true});
    TestClient client;
    PJRT_LoadedExecutable* inc = client.Compile("inc");
    PJRT_Executable* executable = GetExecutable(inc);
    PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
    Execution run = Execute(inc, {{x}});
    for (int what : order) {
      if (what == 0) client.Destroy();
      if (what == 1) DestroyLoaded(inc);
      if (what == 2) DestroyExecutable(executable);
      if (what == 3) DestroyBuffer(x);
      if (what == 4) DestroyBuffer(run.outputs[0][0]);
      if (what == 5) DestroyEvent(run.done[0]);
      if (what == order[2]) Fake::RunQueued();
    }
    EXPECT_EQ(Fake::LiveDrivers(), 0);
    EXPECT_EQ(Fake::LiveBlocks(), 0);
    EXPECT_EQ(Fake::LiveExecutables(), 0);
  } while (std::next_permutation(order.begin(), order.end()));
}

// The last buffer may go in a callback, on a thread of the backend that the driver's destructor
// waits for.
TEST(Lifetime, TheDriverIsNotDestroyedInACallback) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  auto ready = Make<PJRT_Buffer_ReadyEvent_Args>();
  ready.buffer = x;
  (void)Api().PJRT_Buffer_ReadyEvent(&ready);
  auto args = Make<PJRT_Event_OnReady_Args>();
  args.event = ready.event;
  args.user_arg = x;
  args.callback = [](PJRT_Error*, void* buffer) {
    DestroyBuffer(static_cast<PJRT_Buffer*>(buffer));
  };
  (void)Api().PJRT_Event_OnReady(&args);
  DestroyEvent(ready.event);
  client.Destroy();
  const std::thread::id here = std::this_thread::get_id();
  Fake::RunQueued();
  while (Fake::LiveDrivers() != 0) std::this_thread::yield();
  EXPECT_TRUE(Fake::LastDriverThread() != here);
  EXPECT_EQ(Fake::LiveBlocks(), 0);
}

// Launches that may take the block race with readers and with each other: every reader sees a whole
// array or an error.
// pitfall 53: threads race for whether a buffer is deleted or ready
TEST(Donation, RacesWithReaders) {
  Fake::Reset({.host_accessible = true});
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  for (int round = 0; round < 200; ++round) {
    PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
    std::atomic<int> launched{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        if (t == 0) {
          std::string error;
          const auto bytes = GetBytes(x, &error);
          if (error.empty()) EXPECT_EQ(reinterpret_cast<const float*>(bytes.data())[3], 4.0f);
          return;
        }
        Execution run = Execute(inc, {{x}});
        if (run.error.empty()) {
          ++launched;
          EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
        }
        Destroy(run);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(launched.load() >= 1);
    DestroyBuffer(x);
  }
  DestroyLoaded(inc);
  EXPECT_EQ(Fake::LiveBlocks(), 0);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
