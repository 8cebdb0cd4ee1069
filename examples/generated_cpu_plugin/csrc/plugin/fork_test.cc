#include "plugin/fork.h"

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// In the child: whether the parent's client refuses work, and one of the child's own does it.
bool ChildBehaves(TestClient& parents, PJRT_Buffer* buffer, PJRT_LoadedExecutable* inc) {
  const std::string refusal = "this process was forked";
  std::string error;
  GetBytes(buffer, &error);
  if (error.find(refusal) == std::string::npos || error.find("9: ") != 0) return false;
  if (Execute(inc, {{buffer}}).error.find(refusal) == std::string::npos) return false;
  if (parents.Put<float>({1}, {1}) != nullptr) return false;
  if (parents.Compile("inc") != nullptr) return false;
  if (IsDeleted(buffer)) return false;  // questions are answered
  TestClient own;
  PJRT_Buffer* mine = own.Put<float>({5}, {1});
  if (Get<float>(mine) != std::vector<float>{5}) return false;
  DestroyBuffer(mine);
  DestroyBuffer(buffer);
  DestroyLoaded(inc);
  parents.Destroy();
  return Fake::LiveDrivers() == 2;  // the parent's is left alone: its threads are not here
}

// pitfall 55: a forked child waits for ever for threads that it does not have
TEST(Fork, TheChildRefusesTheParentsClient) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2, 3, 4}, {4});
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  const pid_t child = fork();
  if (child == 0) _exit(ChildBehaves(client, buffer, inc) ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(Get<float>(buffer), (std::vector<float>{1, 2, 3, 4}));  // the parent goes on
  DestroyBuffer(buffer);
  DestroyLoaded(inc);
}

// Nobody in the child will ever do the work that was under way: whoever waits must be told.
TEST(Fork, PendingEventsOfTheParentFail) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1, 2, 3, 4}, {4});
  auto ready = Make<PJRT_Buffer_ReadyEvent_Args>();
  ready.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ReadyEvent(&ready)), "");
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const std::string refusal = "this process was forked";
    const bool old_one = Finish(ready.event).find(refusal) != std::string::npos;
    EXPECT_EQ(Text(Api().PJRT_Buffer_ReadyEvent(&ready)), "");
    const bool new_one = Finish(ready.event).find(refusal) != std::string::npos;
    _exit(old_one && new_one ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  Fake::RunQueued();
  EXPECT_EQ(Finish(ready.event), "");
  DestroyBuffer(buffer);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
