#ifndef TESTING_ACCELERATOR_ACCELERATOR_TEST_UTIL_H_
#define TESTING_ACCELERATOR_ACCELERATOR_TEST_UTIL_H_

// What tests of the plugin layer on an accelerator share. Underneath is the fake backend of
// csrc/plugin, whose programs are words.
//
//   Gate gate(Work::kCopy);                       // no copy begins before gate.Open()
//   Bench bench({.on_start = gate.Hook()});
//   PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
//
// A bench expects at its end that all is destroyed, and that nobody did what the backend interface
// does not allow. What waits here gives up after a minute, with a failure.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generated/config.h"
#include "generated/pjrt_c_api.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/accelerator/control.h"

namespace PJRT_PLUGIN_NS::accelerator {

using Floats = std::vector<float>;

struct Bench {
  explicit Bench(Settings settings = {}, plugin::FakeConfig fake = {});
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // Compiles for these devices, as partitions.
  PJRT_LoadedExecutable* Compile(std::string_view program, const std::vector<int>& devices = {0});
  // As TestClient::Put, with what the caller promises of `data`, and the event that gives it back.
  PJRT_Buffer* Put(const Floats& data, PJRT_HostBufferSemantics semantics, PJRT_Event** done,
                   PJRT_Memory* memory = nullptr);

  std::shared_ptr<Control> control;
  std::unique_ptr<plugin::TestClient> client;
};

// Work of one kind stands still before it until it is opened.
class Gate {
 public:
  explicit Gate(Work work, int device = Fault::kAny) : work_(work), device_(device) {}

  std::function<backend::Status(const Record&)> Hook();
  void Open();
  // Until so many pieces of work have come to it.
  bool AwaitArrivals(int count);

 private:
  const Work work_;
  const int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int arrivals_ = 0;
};

// Work of one kind goes on only while so many are under way at one time.
class Meeting {
 public:
  Meeting(Work work, int count) : work_(work), count_(count) {}

  std::function<backend::Status(const Record&)> Hook();

 private:
  const Work work_;
  const int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrivals_ = 0;
};

PJRT_Event* ReadyEvent(PJRT_Buffer* buffer);
// How the buffer's contents came out, once that is known.
std::string ReadyText(PJRT_Buffer* buffer);
PJRT_Event* ToHost(PJRT_Buffer* buffer, Floats* target);
void OnReady(PJRT_Event* event, void (*callback)(PJRT_Error*, void*), void* user_arg);
void Delete(PJRT_Buffer* buffer);
// Waits; false after a minute.
bool Eventually(const std::function<bool()>& condition);

}  // namespace PJRT_PLUGIN_NS::accelerator

#endif  // TESTING_ACCELERATOR_ACCELERATOR_TEST_UTIL_H_
