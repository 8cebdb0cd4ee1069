#include "backend/platform.h"

#include <cstdint>
#include <cstring>
#include <thread>

#include "testing/test.h"

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace PJRT_PLUGIN_NS::backend::platform {
namespace {

TEST(Platform, ThreadsHaveNumbersOfTheirOwn) {
  const int64_t mine = ThreadId();
  EXPECT_GT(mine, 0);
  EXPECT_EQ(ThreadId(), mine);
  int64_t others = mine;
  std::thread([&] { others = ThreadId(); }).join();
  EXPECT_NE(others, mine);
}

TEST(Platform, MemoryIsAligned) {
  for (size_t alignment : {size_t{64}, size_t{4096}}) {
    void* const address = AllocateAligned(alignment, 3 * alignment);
    ASSERT_NE(address, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % alignment, 0u);
    std::memset(address, 1, 3 * alignment);
    FreeAligned(address);
  }
  FreeAligned(nullptr);
}

#if !defined(_WIN32)

int forked = 0;

TEST(Platform, AForkedChildIsTold) {
  OnForkInChild([] { ++forked; });
  const pid_t child = fork();
  if (child == 0) _exit(forked == 1 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(forked, 0);  // the parent goes on as if nothing had been
}

#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::backend::platform
