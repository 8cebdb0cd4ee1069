#ifndef PLUGIN_FAKE_BACKEND_TEST_UTIL_H_
#define PLUGIN_FAKE_BACKEND_TEST_UTIL_H_

// A backend in memory for the tests of this folder, and what they need to drive the layer through
// the PJRT_Api table, as a framework does. A test decides when work ends:
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
// the host on channel 1 and gives what comes back on channel 2.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/driver.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"
#include "generated/pjrt_extensions.h"

namespace PJRT_PLUGIN_NS::plugin {

struct FakeConfig {
  int num_devices = 4;
  bool host_accessible = false;  // of the memory of kind "device"
  bool can_wrap = false;
  bool can_map = false;          // host memory, for direct access
  bool can_clear_stats = false;  // of memories
  bool manual = false;           // copies and launches wait for RunQueued
};

class Fake {
 public:
  static void Reset(FakeConfig config = {});
  // Does all queued work, and what becomes ready by that, in the order of queueing.
  static void RunQueued();
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

// The call table over plugin::Layer, without a vendor's overrides.
const PJRT_Api& Api();

// The error's text, prefixed with its code ("3: ..."), and frees it; "" for null.
std::string Text(PJRT_Error* error);

// Args with struct_size set.
template <typename Args>
Args Make() {
  Args args = {};
  args.struct_size = sizeof(Args);
  return args;
}

void DestroyEvent(PJRT_Event* event);
void DestroyBuffer(PJRT_Buffer* buffer);
bool IsReady(PJRT_Event* event);
// Waits, gives the outcome as Text does, and destroys the event.
std::string Finish(PJRT_Event* event);

// A CompileOptionsProto for the first `num_devices` devices, as one replica.
std::string SerializedOptions(int num_devices);

struct TestClient {
  TestClient();
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;
  void Destroy();

  PJRT_Device* device(int index) const { return devices[index]; }
  // The memory of that kind.
  PJRT_Memory* memory(int device, std::string_view kind) const;
  PJRT_Buffer* PutData(const void* data, PJRT_Buffer_Type type, const std::vector<int64_t>& dims,
                       int device = 0);
  template <typename T>
  PJRT_Buffer* Put(const std::vector<T>& data, const std::vector<int64_t>& dims, int device = 0) {
    return PutData(data.data(), TypeOf(T()), dims, device);
  }
  // Compiles for the first `num_devices` devices; the error is in `error`.
  PJRT_LoadedExecutable* Compile(std::string_view code, int num_devices = 1) {
    return CompileWith(code, SerializedOptions(num_devices));
  }
  PJRT_LoadedExecutable* CompileWith(std::string_view code, std::string_view options);

  PJRT_Client* client = nullptr;
  std::vector<PJRT_Device*> devices;
  std::string error;

 private:
  static PJRT_Buffer_Type TypeOf(float) { return PJRT_Buffer_Type_F32; }
  static PJRT_Buffer_Type TypeOf(int32_t) { return PJRT_Buffer_Type_S32; }
  static PJRT_Buffer_Type TypeOf(int8_t) { return PJRT_Buffer_Type_S8; }
};

// The dense contents, waiting for them. On failure `error` has the text.
std::vector<std::byte> GetBytes(PJRT_Buffer* buffer, std::string* error = nullptr);
template <typename T>
std::vector<T> Get(PJRT_Buffer* buffer) {
  const std::vector<std::byte> bytes = GetBytes(buffer);
  std::vector<T> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    std::copy_n(bytes.data() + i * sizeof(T), sizeof(T), reinterpret_cast<std::byte*>(&values[i]));
  }
  return values;
}
bool IsDeleted(PJRT_Buffer* buffer);

// One call of PJRT_LoadedExecutable_Execute.
struct Run {
  std::vector<std::vector<PJRT_Buffer*>> outputs;  // [device][output]
  std::vector<PJRT_Event*> done;
  std::string error;
};
Run Execute(PJRT_LoadedExecutable* executable, std::vector<std::vector<PJRT_Buffer*>> arguments,
            size_t num_outputs = 1, std::vector<int64_t> not_donatable = {},
            PJRT_Device* execute_device = nullptr,
            PJRT_ExecuteOptions options = Make<PJRT_ExecuteOptions>());
void Destroy(const Run& run);
void DestroyLoaded(PJRT_LoadedExecutable* executable);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_FAKE_BACKEND_TEST_UTIL_H_
