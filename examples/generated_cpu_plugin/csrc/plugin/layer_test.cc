#include "plugin/layer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "generated/entries.h"
#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/guard_page.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using generated::Entry;
using generated::kEntries;

// The entry of the call table with that place in kEntries; null where there is none.
template <typename Result>
auto FunctionAt(size_t index) -> Result (*)(void* args) {
  Result (*function)(void* args);
  std::memcpy(&function,
              reinterpret_cast<const std::byte*>(&Api().PJRT_Error_Destroy) + index * sizeof(void*),
              sizeof(function));
  return function;
}

// Functions that need no handle, each tried by one of the tests below.
constexpr std::string_view kWithoutHandles[] = {
    "PJRT_Error_Destroy",
    "PJRT_Plugin_Initialize",
    "PJRT_Plugin_Attributes",
    "PJRT_Event_Create",
    "PJRT_Client_Create",
    "PJRT_ExecuteContext_Create",
    "PJRT_TopologyDescription_Create",
    "PJRT_TopologyDescription_Deserialize",
};

bool ReturnsError(const std::string& name) {
  return name != "PJRT_Error_Destroy" && name != "PJRT_Error_Message";
}

// pitfall 4: a newer plugin cannot make a client for an older framework
TEST(Layer, EveryFunctionRefusesNullHandlesOfCallersOfEveryAge) {
  size_t tried = 0;
  for (size_t i = 0; i < std::size(kEntries); ++i) {
    const Entry& entry = *kEntries[i];
    const auto function = FunctionAt<PJRT_Error*>(i);
    if (function == nullptr) continue;
    if (entry.required[0].name == nullptr) {
      EXPECT_NE(std::ranges::find(kWithoutHandles, entry.name), std::end(kWithoutHandles))
          << entry.name
          << " is tried by no test with null handles: say what it requires, or list it";
      continue;
    }
    for (size_t size = sizeof(size_t); size <= entry.size + size_t{32}; size += 8) {
      if (size == entry.shorter) continue;  // such callers own more than they say
      const test::GuardedStruct args(size);
      if (!ReturnsError(entry.name)) {
        FunctionAt<void>(i)(args.data());
        continue;
      }
      const std::string error = Text(function(args.data()));
      EXPECT_CONTAINS(error, entry.name);
      EXPECT_CONTAINS(error, size < entry.oldest ? "struct_size" : " is null");
    }
    ++tried;
  }
  EXPECT_TRUE(tried > 60);
}

// Those that take no handle do their work; `destroy` gets what they answered.
template <typename Args>
void ServesCallersOfEveryAge(PJRT_Error* (*function)(Args*), void (*destroy)(Args& args)) {
  const Entry& entry = generated::kEntry<Args>;
  for (size_t size = entry.oldest; size <= entry.size + size_t{16}; size += 8) {
    const test::GuardedStruct caller(size == entry.shorter ? entry.shorter_true : size, size);
    auto* args = reinterpret_cast<Args*>(caller.data());
    EXPECT_EQ(Text(function(args)), "") << entry.name << ", struct_size " << size;
    destroy(*args);
  }
}

TEST(Layer, FunctionsWithoutHandlesServeCallersOfEveryAge) {
  Fake::Reset();
  ServesCallersOfEveryAge<PJRT_Plugin_Initialize_Args>(Api().PJRT_Plugin_Initialize, [](auto&) {});
  ServesCallersOfEveryAge<PJRT_Plugin_Attributes_Args>(
      Api().PJRT_Plugin_Attributes, [](auto& args) { EXPECT_GT(args.num_attributes, size_t{0}); });
  ServesCallersOfEveryAge<PJRT_Client_Create_Args>(Api().PJRT_Client_Create, [](auto& args) {
    auto destroy = Make<PJRT_Client_Destroy_Args>();
    destroy.client = args.client;
    EXPECT_EQ(Text(Api().PJRT_Client_Destroy(&destroy)), "");
  });
  ServesCallersOfEveryAge<PJRT_ExecuteContext_Create_Args>(
      Api().PJRT_ExecuteContext_Create, [](auto& args) {
        auto destroy = Make<PJRT_ExecuteContext_Destroy_Args>();
        destroy.context = args.context;
        EXPECT_EQ(Text(Api().PJRT_ExecuteContext_Destroy(&destroy)), "");
      });
#if PJRT_SCAFFOLD_HAS_PJRT_Event_Create
  ServesCallersOfEveryAge<PJRT_Event_Create_Args>(Api().PJRT_Event_Create,
                                                  [](auto& args) { DestroyEvent(args.event); });
#endif
  ServesCallersOfEveryAge<PJRT_TopologyDescription_Create_Args>(
      Api().PJRT_TopologyDescription_Create, [](auto& args) {
        auto destroy = Make<PJRT_TopologyDescription_Destroy_Args>();
        destroy.topology = args.topology;
        EXPECT_EQ(Text(Api().PJRT_TopologyDescription_Destroy(&destroy)), "");
      });
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}

// No error is a thing to destroy as well.
TEST(Layer, DestroysTheNullError) {
  const Entry& entry = generated::kEntry<PJRT_Error_Destroy_Args>;
  for (size_t size = sizeof(size_t); size <= entry.size + size_t{16}; size += 8) {
    const test::GuardedStruct args(size);
    Api().PJRT_Error_Destroy(reinterpret_cast<PJRT_Error_Destroy_Args*>(args.data()));
  }
  Api().PJRT_Error_Destroy(nullptr);
}

TEST(Layer, RefusesTextsThatAreNotThere) {
  Fake::Reset();
  auto create = Make<PJRT_TopologyDescription_Create_Args>();
  create.topology_name_size = 3;
  EXPECT_CONTAINS(Text(Api().PJRT_TopologyDescription_Create(&create)), "topology_name is null");
#if PJRT_SCAFFOLD_HAS_PJRT_TopologyDescription_Deserialize
  const Entry& entry = generated::kEntry<PJRT_TopologyDescription_Deserialize_Args>;
  for (size_t size = entry.oldest; size <= entry.size + size_t{16}; size += 8) {
    const test::GuardedStruct caller(size);
    auto* args = reinterpret_cast<PJRT_TopologyDescription_Deserialize_Args*>(caller.data());
    EXPECT_CONTAINS(Text(Api().PJRT_TopologyDescription_Deserialize(args)), "3: ");
    args->serialized_topology_size = 3;
    EXPECT_CONTAINS(Text(Api().PJRT_TopologyDescription_Deserialize(args)),
                    "serialized_topology is null");
  }
#endif
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
