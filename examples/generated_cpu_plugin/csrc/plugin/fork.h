#ifndef PLUGIN_FORK_H_
#define PLUGIN_FORK_H_

// A forked child has the parent's clients but none of their threads: work that it queued would
// never end. So entry points that start or await work refuse a client of another process, and an
// event that was pending when the process was forked. Questions and destruction still work, and a
// client that the child makes itself is as good as any.

#include <cstdint>

#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::plugin {

// How many forks lie between the first process that loaded this library and this one.
uint32_t ForkGeneration();
// Makes ForkGeneration count. Called once, before the first client.
void WatchForks();
// FAILED_PRECONDITION for `function` on a client that was made in another process.
backend::Status ForkedError(const char* function);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_FORK_H_
