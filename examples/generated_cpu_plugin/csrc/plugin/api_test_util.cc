#include "plugin/api_test_util.h"

#include <utility>

#include "generated/table.h"
#include "plugin/compile_options.h"
#include "plugin/extensions.h"
#include "plugin/fake_backend_test_util.h"
#include "plugin/layer.h"
#include "plugin/proto.h"

namespace PJRT_PLUGIN_NS::plugin {

const PJRT_Api& Api() {
  static const PJRT_Api api = generated::make_table<Layer>(Extensions());
  return api;
}

std::string Text(PJRT_Error* error) {
  if (error == nullptr) return "";
  auto message = Make<PJRT_Error_Message_Args>();
  message.error = error;
  Api().PJRT_Error_Message(&message);
  auto code = Make<PJRT_Error_GetCode_Args>();
  code.error = error;
  (void)Api().PJRT_Error_GetCode(&code);
  std::string text =
      std::to_string(int(code.code)) + ": " + std::string(message.message, message.message_size);
  auto destroy = Make<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  Api().PJRT_Error_Destroy(&destroy);
  return text;
}

void DestroyEvent(PJRT_Event* event) {
  auto args = Make<PJRT_Event_Destroy_Args>();
  args.event = event;
  (void)Api().PJRT_Event_Destroy(&args);
}

void DestroyBuffer(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_Destroy_Args>();
  args.buffer = buffer;
  (void)Api().PJRT_Buffer_Destroy(&args);
}

bool IsReady(PJRT_Event* event) {
  auto args = Make<PJRT_Event_IsReady_Args>();
  args.event = event;
  (void)Api().PJRT_Event_IsReady(&args);
  return args.is_ready;
}

std::string Finish(PJRT_Event* event) {
  auto args = Make<PJRT_Event_Await_Args>();
  args.event = event;
  std::string text = Text(Api().PJRT_Event_Await(&args));
  DestroyEvent(event);
  return text;
}

TestClient::TestClient() {
  auto create = Make<PJRT_Client_Create_Args>();
  error = Text(Api().PJRT_Client_Create(&create));
  client = create.client;
  if (client == nullptr) return;
  auto list = Make<PJRT_Client_Devices_Args>();
  list.client = client;
  (void)Api().PJRT_Client_Devices(&list);
  devices.assign(list.devices, list.devices + list.num_devices);
}

TestClient::~TestClient() { Destroy(); }

void TestClient::Destroy() {
  if (client == nullptr) return;
  auto args = Make<PJRT_Client_Destroy_Args>();
  args.client = std::exchange(client, nullptr);
  (void)Api().PJRT_Client_Destroy(&args);
}

PJRT_Memory* TestClient::memory(int device, std::string_view kind) const {
  auto list = Make<PJRT_Device_AddressableMemories_Args>();
  list.device = devices[device];
  (void)Api().PJRT_Device_AddressableMemories(&list);
  for (size_t i = 0; i < list.num_memories; ++i) {
    auto args = Make<PJRT_Memory_Kind_Args>();
    args.memory = list.memories[i];
    (void)Api().PJRT_Memory_Kind(&args);
    if (std::string_view(args.kind, args.kind_size) == kind) return list.memories[i];
  }
  return nullptr;
}

PJRT_Buffer* TestClient::PutData(const void* data, PJRT_Buffer_Type type,
                                 const std::vector<int64_t>& dims, int device) {
  auto args = Make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client;
  args.data = data;
  args.type = type;
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = devices[device];
  std::string failure = Text(Api().PJRT_Client_BufferFromHostBuffer(&args));
  const bool ok = failure.empty();
  // Threads share a client as long as all goes well: what does not change is not written.
  if (failure != error) error = std::move(failure);
  if (!ok) return nullptr;
  DestroyEvent(args.done_with_host_buffer);
  return args.buffer;
}

std::string SerializedOptions(int num_devices) {
  std::vector<std::vector<int>> ids(1);
  for (int i = 0; i < num_devices; ++i) ids[0].push_back(i);
  std::string build, options;
  PutVarint(4, 1, &build);
  PutVarint(5, num_devices, &build);
  PutBytes(9, WriteDeviceAssignment(ids), &build);
  PutBytes(3, build, &options);
  return options;
}

PJRT_LoadedExecutable* TestClient::CompileWith(std::string_view code, std::string_view options) {
  std::string copy(code);
  auto program = Make<PJRT_Program>();
  program.code = copy.data();
  program.code_size = copy.size();
  program.format = "mlir";
  program.format_size = 4;
  auto args = Make<PJRT_Client_Compile_Args>();
  args.client = client;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  error = Text(Api().PJRT_Client_Compile(&args));
  return args.executable;
}

std::vector<std::byte> GetBytes(PJRT_Buffer* buffer, std::string* error) {
  auto args = Make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  std::string text = Text(Api().PJRT_Buffer_ToHostBuffer(&args));
  std::vector<std::byte> bytes(args.dst_size);
  std::byte none;
  args.dst = bytes.empty() ? &none : bytes.data();
  if (text.empty()) text = Text(Api().PJRT_Buffer_ToHostBuffer(&args));
  if (text.empty()) {
    Fake::RunQueued();
    text = Finish(args.event);
  }
  if (error != nullptr) *error = text;
  return bytes;
}

bool IsDeleted(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_IsDeleted_Args>();
  args.buffer = buffer;
  (void)Api().PJRT_Buffer_IsDeleted(&args);
  return args.is_deleted;
}

Execution Execute(PJRT_LoadedExecutable* executable,
                  std::vector<std::vector<PJRT_Buffer*>> arguments, size_t num_outputs,
                  std::vector<int64_t> not_donatable, PJRT_Device* execute_device,
                  PJRT_ExecuteOptions options) {
  Execution run;
  std::vector<PJRT_Buffer* const*> lists;
  std::vector<PJRT_Buffer**> outputs;
  run.outputs.resize(arguments.size(), std::vector<PJRT_Buffer*>(num_outputs));
  run.done.resize(arguments.size());
  for (size_t d = 0; d < arguments.size(); ++d) {
    lists.push_back(arguments[d].data());
    outputs.push_back(run.outputs[d].data());
  }
  options.non_donatable_input_indices = not_donatable.data();
  options.num_non_donatable_input_indices = not_donatable.size();
  auto args = Make<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = executable;
  args.options = &options;
  args.argument_lists = lists.data();
  args.num_devices = arguments.size();
  args.num_args = arguments.empty() ? 0 : arguments[0].size();
  args.output_lists = outputs.data();
  args.device_complete_events = run.done.data();
  args.execute_device = execute_device;
  run.error = Text(Api().PJRT_LoadedExecutable_Execute(&args));
  return run;
}

void Destroy(const Execution& run) {
  if (!run.error.empty()) return;
  for (const auto& device : run.outputs) {
    for (PJRT_Buffer* output : device) DestroyBuffer(output);
  }
  for (PJRT_Event* event : run.done) DestroyEvent(event);
}

void DestroyLoaded(PJRT_LoadedExecutable* executable) {
  auto args = Make<PJRT_LoadedExecutable_Destroy_Args>();
  args.executable = executable;
  (void)Api().PJRT_LoadedExecutable_Destroy(&args);
}

}  // namespace PJRT_PLUGIN_NS::plugin
