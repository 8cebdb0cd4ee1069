#ifndef PLUGIN_API_TEST_UTIL_H_
#define PLUGIN_API_TEST_UTIL_H_

// What the tests of this folder need to drive the layer through the PJRT_Api table, as a framework
// does: calls in one line, and errors as text.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generated/config.h"
#include "generated/pjrt_c_api.h"
#include "generated/pjrt_extensions.h"

namespace PJRT_PLUGIN_NS::plugin {

// The call table over plugin::Layer, without a vendor's overrides.
const PJRT_Api& Api();

// Of that API's chain; null when it is not there.
template <typename Extension>
const Extension* FindExtension(PJRT_Extension_Type type) {
  const PJRT_Extension_Base* one = Api().extension_start;
  while (one != nullptr && one->type != type) one = one->next;
  return reinterpret_cast<const Extension*>(one);
}

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

// The dense contents, once the fake backend has done its queued work. On failure `error` has the
// text.
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
struct Execution {
  std::vector<std::vector<PJRT_Buffer*>> outputs;  // [device][output]
  std::vector<PJRT_Event*> done;
  std::string error;
};
Execution Execute(PJRT_LoadedExecutable* executable,
                  std::vector<std::vector<PJRT_Buffer*>> arguments, size_t num_outputs = 1,
                  std::vector<int64_t> not_donatable = {}, PJRT_Device* execute_device = nullptr,
                  PJRT_ExecuteOptions options = Make<PJRT_ExecuteOptions>());
void Destroy(const Execution& run);
void DestroyLoaded(PJRT_LoadedExecutable* executable);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_API_TEST_UTIL_H_
