// Holds expected_unimplemented.txt against the call table: nothing may be missing in silence.
//
// The file's first line, "# reviewed-through: 0.NN", says up to which API version somebody has
// looked at it. A gap of that version or an older one must be listed; newer gaps are only named. A
// listed function that is implemented, or that the API does not have, must be taken off the list.

#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "generated/answers.h"
#include "testing/test.h"
#include "vendor/overrides.h"

namespace {

using PJRT_PLUGIN_NS::generated::FunctionAnswer;
using PJRT_PLUGIN_NS::generated::IsGap;
using PJRT_PLUGIN_NS::generated::kAnswers;

struct Expected {
  int reviewed_through = -1;
  std::map<std::string, bool> functions;  // the value: seen in the API
};

Expected ReadExpected() {
  Expected expected;
  std::ifstream file(EXPECTED_UNIMPLEMENTED);
  std::string line;
  constexpr std::string_view kFirst = "# reviewed-through: 0.";
  if (std::getline(file, line) && line.starts_with(kFirst)) {
    expected.reviewed_through = std::stoi(line.substr(kFirst.size()));
  }
  while (std::getline(file, line)) {
    std::string name = line.substr(0, line.find_first_of(" #"));
    if (!name.empty()) expected.functions[name] = false;
  }
  return expected;
}

TEST(ExpectedUnimplemented, FirstLineSaysWhatWasReviewed) {
  EXPECT_TRUE(ReadExpected().reviewed_through >= 0);
}

TEST(ExpectedUnimplemented, ListsTheGapsAndNothingElse) {
  Expected expected = ReadExpected();
  for (const FunctionAnswer& f : kAnswers<PJRT_PLUGIN_NS::vendor::Api>) {
    auto listed = expected.functions.find(std::string(f.name));
    if (listed != expected.functions.end()) {
      listed->second = true;
      if (!IsGap(f.answer)) {
        ADD_FAILURE() << std::string(f.name) +
                             " is implemented; take it off expected_unimplemented.txt";
      }
    } else if (IsGap(f.answer) && f.since <= expected.reviewed_through) {
      ADD_FAILURE() << std::string(f.name) + " is not implemented (since 0." +
                           std::to_string(f.since) +
                           "); implement it, or list it in expected_unimplemented.txt";
    } else if (IsGap(f.answer)) {
      std::printf("new and not reviewed: %s (since 0.%d)\n", std::string(f.name).c_str(), f.since);
    }
  }
  for (const auto& [name, seen] : expected.functions) {
    if (!seen) {
      ADD_FAILURE() << name +
                           " is no function of this API version; take it off "
                           "expected_unimplemented.txt";
    }
  }
}

}  // namespace
