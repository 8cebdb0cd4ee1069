// Damaged programs, many of them: each is refused with a message or goes through all of the front
// end. Meant to run under AddressSanitizer now and then, with FUZZ_ROUNDS=1000000 or so.

#include <cstdlib>
#include <random>
#include <string>

#include "program/passes.h"
#include "program/read.h"
#include "program/sample_programs.h"
#include "program/sample_text.h"
#include "program/verify.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string Mutate(std::string code) {
    for (size_t n = 1 + Below(4); n > 0 && !code.empty(); --n) {
      const size_t at = Below(code.size());
      switch (Below(6)) {
        case 0:
          code[at] = char(Below(256));
          break;
        case 1:
          code[at] = char(code[at] ^ 1 << Below(8));
          break;
        case 2:
          code[at] = char(code[at] + (Below(2) != 0 ? 2 : -2));  // a one-byte varint one up or down
          break;
        case 3:
          code.erase(at, 1 + Below(4));
          break;
        case 4:
          code.insert(at, code.substr(Below(code.size()), 1 + Below(8)));
          break;
        default:
          code.replace(at, 1 + Below(8), code.substr(Below(code.size()), 1 + Below(8)));
      }
    }
    return code;
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }

  std::mt19937_64 random_;
};

TEST(Fuzz, DamagedProgramsAreRefusedOrRun) {
  const char* rounds = std::getenv("FUZZ_ROUNDS");
  const unsigned count = rounds == nullptr ? 3000 : unsigned(std::strtoul(rounds, nullptr, 10));
  unsigned read = 0;
  for (unsigned seed = 0; seed < count; ++seed) {
    const std::string_view samples[] = {SampleText(kDouble), SampleText(kEverything), kSampleText,
                                        SampleText(kEverything)};
    const std::string code = Mutator(seed).Mutate(std::string(samples[seed % 4]));
    auto module = ReadProgram(code);
    if (!module.ok()) {
      EXPECT_FALSE(module.status().message().empty());
      continue;
    }
    ++read;
    const backend::Status passes = RunPasses(**module);
    if (passes.ok()) EXPECT_EQ(std::string(Verify(**module).message()), "");
    EXPECT_FALSE(ToString(**module).empty());
  }
  EXPECT_LE(count / 50, read);  // enough damage is light enough to get past the reader
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
