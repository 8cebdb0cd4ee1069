// Faults as they are written down, and as they strike.

#include "testing/accelerator/control.h"

#include <string>
#include <utility>
#include <vector>

#include "testing/test.h"

namespace PJRT_PLUGIN_NS::accelerator {
namespace {

using backend::Code;

TEST(ReadFaults, EveryPart) {
  const auto faults = ReadFaults("launch 2 DATA_LOSS, copy 1 on 3 at_end ABORTED,launch 4 lost");
  ASSERT_TRUE(faults.ok());
  ASSERT_TRUE(faults->size() == 3);
  const Fault& copy = (*faults)[1];
  EXPECT_TRUE(copy.work == Work::kCopy && copy.nth == 1 && copy.device == 3);
  EXPECT_TRUE(copy.when == When::kAtEnd && copy.code == Code::kAborted && !copy.device_lost);
  EXPECT_TRUE((*faults)[0].device == Fault::kAny && (*faults)[0].code == Code::kDataLoss);
  EXPECT_TRUE((*faults)[2].device_lost);
  EXPECT_TRUE(ReadFaults("")->empty());
}

TEST(ReadFaults, RefusesTheRest) {
  for (const char* text :
       {"launch", "launch x", "launch 0", "paint 1", "copy 1 on", "copy 1 soon"}) {
    EXPECT_CONTAINS(ReadFaults(text).status().message(), std::string("a fault is '") + text + "'");
  }
}

TEST(Control, CountsByKindAndDevice) {
  Control control({.faults = {{.work = Work::kCopy, .nth = 2, .device = 1}}});
  EXPECT_TRUE(control.Ask(Work::kCopy, 1).status.ok());
  EXPECT_TRUE(control.Ask(Work::kCopy, 0).status.ok());
  EXPECT_TRUE(control.Ask(Work::kLaunch, 1).status.ok());
  const Verdict second = control.Ask(Work::kCopy, 1);
  EXPECT_TRUE(second.at_once().ok());
  EXPECT_TRUE(second.record == (Record{Work::kCopy, 1, 2}));
  EXPECT_EQ(std::string(control.Start(second).message()), "injected fault: copy 2 on device 1");
  EXPECT_TRUE(control.Ask(Work::kCopy, 1).status.ok());
}

TEST(Control, ALostDeviceFailsWhatItHasNotDone) {
  Control control({.faults = {{.work = Work::kLaunch, .nth = 2, .device_lost = true}}});
  const Verdict first = control.Ask(Work::kLaunch, 0), second = control.Ask(Work::kLaunch, 0),
                third = control.Ask(Work::kLaunch, 0), other = control.Ask(Work::kLaunch, 1);
  EXPECT_TRUE(control.Start(first).ok());
  EXPECT_TRUE(control.Start(second).code() == Code::kUnavailable);
  EXPECT_TRUE(control.End(first).code() == Code::kUnavailable);
  EXPECT_TRUE(control.Start(third).code() == Code::kUnavailable);
  EXPECT_TRUE(control.Ask(Work::kAllocate, 0).at_once().code() == Code::kUnavailable);
  EXPECT_TRUE(control.Start(other).ok());
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::accelerator
