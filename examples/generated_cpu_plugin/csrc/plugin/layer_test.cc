#include "plugin/layer.h"

#include <cstddef>
#include <cstring>
#include <string>

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

bool ReturnsError(const std::string& name) {
  return name != "PJRT_Error_Destroy" && name != "PJRT_Error_Message";
}

// pitfall 4: a newer plugin cannot make a client for an older framework
TEST(Layer, EveryFunctionRefusesNullHandlesOfCallersOfEveryAge) {
  size_t tried = 0;
  for (size_t i = 0; i < std::size(kEntries); ++i) {
    const Entry& entry = *kEntries[i];
    const auto function = FunctionAt<PJRT_Error*>(i);
    if (function == nullptr || entry.required[0].name == nullptr) continue;
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
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
