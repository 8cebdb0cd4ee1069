#include "program/read.h"

#include <string>

#include "program/sample_programs.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::Code;

TEST(Read, GivesAVerifiedModule) {
  auto module = ReadProgram(SampleText(kEverything));
  ASSERT_TRUE(module.ok());
  EXPECT_EQ((*module)->name, "jit_function");
}

TEST(Read, RefusesWhatIsNoProgram) {
  for (const char* text : {"", "ML", "HloModule jit_f, entry_computation_layout={}",
                           "\x7f"
                           "ELF"})
    EXPECT_FALSE(ReadProgram(text).ok());
  EXPECT_CONTAINS(ReadProgram("").status().message(), "portable artifact");
}

TEST(Read, NamesWhatIsWrongInAProgram) {
  // A function type that is not that of the body: the type entry of f32 becomes f64.
  std::string code(SampleText(kDouble));
  int refused = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    std::string damaged = code;
    damaged[i] = char(damaged[i] + 2);
    auto module = ReadProgram(damaged);
    if (module.ok()) continue;
    ++refused;
    EXPECT_TRUE(module.status().code() == Code::kInvalidArgument ||
                module.status().code() == Code::kUnimplemented);
  }
  EXPECT_LE(100, refused);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
