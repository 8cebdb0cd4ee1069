#include "plugin/fork.h"

#include <atomic>
#include <string>

#include "backend/platform.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

std::atomic<uint32_t> generation{0};

}  // namespace

uint32_t ForkGeneration() { return generation.load(std::memory_order_relaxed); }

void WatchForks() {
  static const bool registered = [] {
    backend::platform::OnForkInChild([] { generation.fetch_add(1, std::memory_order_relaxed); });
    return true;
  }();
  (void)registered;
}

backend::Status ForkedError(const char* function) {
  return backend::FailedPrecondition(
      std::string(function) + ": this process was forked after its " + kPlatformName +
      " client was made, and the client's threads stayed in the parent; start processes with "
      "multiprocessing's \"spawn\" method, or make the first client after the fork");
}

}  // namespace PJRT_PLUGIN_NS::plugin
