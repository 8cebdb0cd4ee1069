#ifndef TESTS_CLIENT_H_
#define TESTS_CLIENT_H_

// A framework in small, for tests: loads the built plugin library as JAX does and calls it through
// PJRT_Api alone. Of csrc it includes the generated headers of the API, and links nothing. Errors
// are texts that begin with the code, "3: ...", or "" for none. Any thread may call any function.

#if defined(_WIN32)
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generated/pjrt_c_api.h"
#include "generated/pjrt_extensions.h"

namespace client {

// The table of the library at PLUGIN_LIBRARY, a path; null with the loader's reason in `why`.
inline const PJRT_Api* LoadApi(std::string* why = nullptr) {
#if defined(_WIN32)
  HMODULE library = LoadLibraryA(PLUGIN_LIBRARY);  // for good, as frameworks do
  auto symbol =
      library == nullptr ? nullptr : reinterpret_cast<void*>(GetProcAddress(library, "GetPjrtApi"));
  const std::string reason = "Windows' error " + std::to_string(GetLastError());
#else
  void* library = dlopen(PLUGIN_LIBRARY, RTLD_NOW | RTLD_LOCAL);  // for good, as frameworks do
  void* symbol = library == nullptr ? nullptr : dlsym(library, "GetPjrtApi");
  const char* reason = symbol == nullptr ? dlerror() : "";
#endif
  if (symbol == nullptr) {
    if (why != nullptr) *why = reason;
    return nullptr;
  }
  return reinterpret_cast<const PJRT_Api* (*)()>(symbol)();
}

inline const PJRT_Api& Api() {
  static const PJRT_Api* api = LoadApi();
  return *api;
}

template <typename Args>
Args Make() {
  Args args = {};
  args.struct_size = sizeof(Args);
  return args;
}

// Calls an entry, as in Call(Api().PJRT_Client_Destroy, args), and frees its error.
template <typename Args>
std::string Call(PJRT_Error* (*function)(Args*), Args& args) {
  PJRT_Error* error = function(&args);
  if (error == nullptr) return "";
  auto message = Make<PJRT_Error_Message_Args>();
  message.error = error;
  Api().PJRT_Error_Message(&message);
  auto code = Make<PJRT_Error_GetCode_Args>();
  code.error = error;
  if (Api().PJRT_Error_GetCode(&code) != nullptr) return "an error without code";
  std::string text =
      std::to_string(int(code.code)) + ": " + std::string(message.message, message.message_size);
  auto destroy = Make<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  Api().PJRT_Error_Destroy(&destroy);
  return text;
}

// Waits for an event, which may be null, and destroys it.
inline std::string Finish(PJRT_Event* event) {
  if (event == nullptr) return "";
  auto await = Make<PJRT_Event_Await_Args>();
  await.event = event;
  std::string text = Call(Api().PJRT_Event_Await, await);
  auto destroy = Make<PJRT_Event_Destroy_Args>();
  destroy.event = event;
  Call(Api().PJRT_Event_Destroy, destroy);
  return text;
}

inline PJRT_Client* NewClient(std::string* error = nullptr) {
  auto args = Make<PJRT_Client_Create_Args>();
  std::string text = Call(Api().PJRT_Client_Create, args);
  if (error != nullptr) *error = text;
  return args.client;
}
inline std::string Destroy(PJRT_Client* client) {
  auto args = Make<PJRT_Client_Destroy_Args>();
  args.client = client;
  return Call(Api().PJRT_Client_Destroy, args);
}
inline std::string Destroy(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_Destroy_Args>();
  args.buffer = buffer;
  return Call(Api().PJRT_Buffer_Destroy, args);
}
inline std::string Destroy(PJRT_LoadedExecutable* executable) {
  auto args = Make<PJRT_LoadedExecutable_Destroy_Args>();
  args.executable = executable;
  return Call(Api().PJRT_LoadedExecutable_Destroy, args);
}
inline std::string Destroy(PJRT_Executable* executable) {
  auto args = Make<PJRT_Executable_Destroy_Args>();
  args.executable = executable;
  return Call(Api().PJRT_Executable_Destroy, args);
}

inline std::vector<PJRT_Device*> Devices(PJRT_Client* client) {
  auto args = Make<PJRT_Client_AddressableDevices_Args>();
  args.client = client;
  Call(Api().PJRT_Client_AddressableDevices, args);
  return {args.addressable_devices, args.addressable_devices + args.num_addressable_devices};
}

inline int IdOf(PJRT_Device* device) {
  auto description = Make<PJRT_Device_GetDescription_Args>();
  description.device = device;
  Call(Api().PJRT_Device_GetDescription, description);
  auto id = Make<PJRT_DeviceDescription_Id_Args>();
  id.device_description = description.device_description;
  Call(Api().PJRT_DeviceDescription_Id, id);
  return id.id;
}

// A one-dimensional f32 buffer; null with the reason in `error`. `data` may change on return.
inline PJRT_Buffer* Put(PJRT_Client* client, PJRT_Device* device, const std::vector<float>& data,
                        std::string* error = nullptr) {
  const int64_t dims[] = {int64_t(data.size())};
  auto args = Make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client;
  args.device = device;
  args.data = data.data();
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims;
  args.num_dims = 1;
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  std::string text = Call(Api().PJRT_Client_BufferFromHostBuffer, args);
  if (text.empty()) text = Finish(args.done_with_host_buffer);
  if (error != nullptr) *error = text;
  return args.buffer;
}

// The elements of an f32 buffer.
inline std::vector<float> Get(PJRT_Buffer* buffer, std::string* error = nullptr) {
  auto args = Make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  std::string text = Call(Api().PJRT_Buffer_ToHostBuffer, args);  // how large?
  std::vector<float> data(args.dst_size / sizeof(float));
  args.dst = data.data();
  if (text.empty()) text = Call(Api().PJRT_Buffer_ToHostBuffer, args);
  if (text.empty()) text = Finish(args.event);
  if (error != nullptr) *error = text;
  return data;
}

inline bool IsDeleted(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_IsDeleted_Args>();
  args.buffer = buffer;
  Call(Api().PJRT_Buffer_IsDeleted, args);
  return args.is_deleted;
}

// A CompileOptionsProto: one replica on the device with this id, below 128. Fields, by number:
// executable_build_options 3 { num_replicas 4, num_partitions 5, device_assignment 9 {
// replica_count 1, computation_count 2, computation_devices 3 { replica_device_ids 1 } } }.
inline std::string CompileOptions(int device_id) {
  const char bytes[] = {0x1a, 0x0f, 0x20, 1,    0x28, 1,    0x4a, 0x09,           0x08,
                        1,    0x10, 1,    0x1a, 0x03, 0x0a, 1,    char(device_id)};
  return std::string(bytes, sizeof(bytes));
}

// A loaded executable for one device; null with the reason in `error`.
inline PJRT_LoadedExecutable* Compile(PJRT_Client* client, std::string code, int device_id,
                                      std::string* error) {
  const std::string options = CompileOptions(device_id);
  auto program = Make<PJRT_Program>();
  program.code = code.data();
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  auto args = Make<PJRT_Client_Compile_Args>();
  args.client = client;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  *error = Call(Api().PJRT_Client_Compile, args);
  return args.executable;
}

// Starts a program of one output; null with the reason in `error`. `done`, if wanted, is the
// event of the run.
inline PJRT_Buffer* Execute(PJRT_LoadedExecutable* executable, std::vector<PJRT_Buffer*> arguments,
                            std::string* error, PJRT_Event** done = nullptr) {
  auto options = Make<PJRT_ExecuteOptions>();
  PJRT_Buffer* output = nullptr;
  PJRT_Buffer** outputs = &output;
  PJRT_Buffer* const* list = arguments.data();
  auto args = Make<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = executable;
  args.options = &options;
  args.argument_lists = &list;
  args.num_devices = 1;
  args.num_args = arguments.size();
  args.output_lists = &outputs;
  args.device_complete_events = done;
  *error = Call(Api().PJRT_LoadedExecutable_Execute, args);
  return output;
}

}  // namespace client

#endif  // TESTS_CLIENT_H_
