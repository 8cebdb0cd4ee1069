#include "plugin/layer.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "generated/entries.h"
#include "plugin/api_test_util.h"
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

// The block ends where the caller's struct does, so that a sanitizer sees every step beyond it.
std::unique_ptr<std::byte[]> Zeros(size_t struct_size) {
  auto args = std::make_unique<std::byte[]>(struct_size);
  std::memcpy(args.get(), &struct_size, sizeof(struct_size));
  return args;
}

TEST(Layer, EveryFunctionRefusesNullHandlesOfCallersOfEveryAge) {
  size_t tried = 0;
  for (size_t i = 0; i < std::size(kEntries); ++i) {
    const Entry& entry = *kEntries[i];
    const auto function = FunctionAt<PJRT_Error*>(i);
    if (function == nullptr || entry.required[0].name == nullptr) continue;
    for (size_t size = sizeof(size_t); size <= entry.size + size_t{32}; size += 8) {
      if (size == entry.shorter) continue;  // such callers own more than they say
      const auto args = Zeros(size);
      if (!ReturnsError(entry.name)) {
        FunctionAt<void>(i)(args.get());
        continue;
      }
      const std::string error = Text(function(args.get()));
      EXPECT_CONTAINS(error, entry.name);
      EXPECT_CONTAINS(error, size < entry.oldest ? "struct_size" : " is null");
    }
    ++tried;
  }
  EXPECT_TRUE(tried > 60);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
