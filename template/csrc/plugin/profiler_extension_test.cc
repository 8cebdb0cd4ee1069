// The profiler as frameworks call it; they ask for no null and set no struct_size.

#include <cstddef>
#include <cstring>

#include "generated/features.h"
#include "generated/pjrt_extensions.h"
#include "plugin/extensions.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

#if PJRT_SCAFFOLD_HAS_PJRT_Profiler_Extension
// The table by position: its size, a member that is not used, functions.
struct Table {
  size_t struct_size;
  void* priv;
  void* functions[8];
};
enum { kErrorDestroy, kErrorMessage, kErrorCode, kCreate, kDestroy, kStart, kStop, kCollect };

// An argument struct of machine words, full of garbage where the caller sets nothing.
struct Words {
  Words() { std::memset(word, 0xAB, sizeof(word)); }
  void* word[5];
};

const Table& ProfilerTableOf(const PJRT_Extension_Base* base) {
  const auto* extension = reinterpret_cast<const PJRT_Profiler_Extension*>(base);
  return *reinterpret_cast<const Table*>(extension->profiler_api);
}

void* Call(const Table& table, int function, Words& args) {
  return reinterpret_cast<void* (*)(void*)>(table.functions[function])(args.word);
}

TEST(ProfilerExtension, IsThere) {
  for (auto* node = Extensions(); node != nullptr; node = node->next)
    if (node->type == PJRT_Extension_Type_Profiler) return;
  ADD_FAILURE() << "no profiler in the chain";
}

// jaxlib up to 0.9 takes a table of this size only.
TEST(ProfilerExtension, TableHasTheSizeOfVersionOne) {
  const Table& table = ProfilerTableOf(ProfilerExtension(nullptr));
  EXPECT_EQ(table.struct_size, size_t{80});
  for (void* function : table.functions) EXPECT_TRUE(function != nullptr);
}

TEST(ProfilerExtension, SessionCollectsNothing) {
  const Table& table = ProfilerTableOf(ProfilerExtension(nullptr));
  Words create, session, collect;
  EXPECT_TRUE(Call(table, kCreate, create) == nullptr);
  void* const profiler = create.word[3];
  EXPECT_TRUE(profiler != nullptr);
  session.word[1] = collect.word[1] = profiler;
  EXPECT_TRUE(Call(table, kStart, session) == nullptr);
  EXPECT_TRUE(Call(table, kStop, session) == nullptr);
  EXPECT_TRUE(Call(table, kCollect, collect) == nullptr);
  EXPECT_TRUE(collect.word[2] == nullptr);
  EXPECT_TRUE(collect.word[3] == nullptr);  // zero bytes
  EXPECT_TRUE(Call(table, kDestroy, session) == nullptr);
}
#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
