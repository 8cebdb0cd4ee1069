#ifndef PLUGIN_FAKE_BACKEND_TEST_UTIL_H_
#define PLUGIN_FAKE_BACKEND_TEST_UTIL_H_

// A backend in memory for the tests of this folder. A test decides when work ends:
//
//   Fake::Reset({.manual = true});
//   TestClient client;
//   PJRT_Buffer* buffer = client.Put<float>({1, 2}, {2});
//   Fake::RunQueued();   // now the transfer happens
//
// Programs are words: "inc" adds one to a float[4] and takes donations; "add" adds two float
// scalars; "psum" adds to each device's float[2] the sum over all devices; "ones" makes a float[4]
// of nothing; "empty" gives back a float[0]; "late" fails when it runs; "refuse" fails to launch,
// "throw" throws there, and "hollow" launches but forgets its output; "echo" sends a float[4] to
// the host on channel 1 and gives what comes back on channel 2; "columns" copies a float[2,3] that
// lies by columns.

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "backend/driver.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::plugin {

struct FakeConfig {
  int num_devices = 4;
  bool host_accessible = false;  // of the memory of kind "device"
  bool can_wrap = false;
  bool can_map = false;          // host memory, for direct access
  bool can_clear_stats = false;  // of memories
  bool manual = false;           // copies and launches wait for RunQueued
  size_t memory_bytes = 0;       // of each memory of kind "device"; 0: plenty
  // Makes the driver that clients get out of the fake one.
  std::function<std::unique_ptr<backend::Driver>(std::unique_ptr<backend::Driver>)> wrap = nullptr;
};

class Fake {
 public:
  static void Reset(FakeConfig config = {});
  // Does all queued work, and what becomes ready by that, in the order of queueing.
  static void RunQueued();
  static size_t Queued();
  // What is alive. All zero when everything was destroyed.
  static int LiveDrivers();
  static int LiveBlocks();
  static int LiveExecutables();
  // Where the last driver was destroyed.
  static std::thread::id LastDriverThread();
  static int Launches();
  // Blocks that the last launch wrote in place.
  static int BlocksReused();
  // Ranges of host memory that are mapped.
  static int Mapped();
  static int StatsCleared();
  // What the last driver was told.
  static std::vector<backend::ProcessInfo> Processes();
};

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_FAKE_BACKEND_TEST_UTIL_H_
