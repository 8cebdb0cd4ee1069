#include "plugin/error.h"

#include <new>
#include <string>
#include <utility>

#include "generated/array.h"
#include "plugin/handle.h"
#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

#if PJRT_SCAFFOLD_HAS_PJRT_Error_FunctionTable
void DestroyError(PJRT_Error* error);
void ErrorMessage(const PJRT_Error* error, const char** message, size_t* message_size);
PJRT_Error_Code ErrorCode(const PJRT_Error* error);
void ErrorPayloads(const PJRT_Error* error, PJRT_Error_PayloadVisitor visitor, void* user_arg);

constexpr PJRT_Error_FunctionTable MakeErrorTable() {
  PJRT_Error_FunctionTable table = {};
  table.struct_size = sizeof(PJRT_Error_FunctionTable);
  table.instance_size = sizeof(PJRT_Error);
  table.destroy = DestroyError;
  table.message = ErrorMessage;
  table.get_code = ErrorCode;
  table.for_each_payload = ErrorPayloads;
  return table;
}
constexpr PJRT_Error_FunctionTable kErrorTable = MakeErrorTable();
const void* const kErrorVtable = &kErrorTable;
#else
const void* const kErrorVtable = nullptr;
#endif

struct Error : Handle<Tag::kError> {
  explicit Error(Status status) : Handle(kErrorVtable), status(std::move(status)) {}
  const Status status;  // never OK
};

}  // namespace

PJRT_PLUGIN_HANDLE(PJRT_Error, Error)

namespace {

// The answer when there is no memory for an error: shared by all, never freed.
Error* OutOfMemory() {
  static Error* const error =
      new (std::nothrow) Error(Status(Code::kResourceExhausted, "the host is out of memory"));
  return error;
}
// Made when the library is loaded, while there is memory.
[[maybe_unused]] Error* const made_at_load = OutOfMemory();

PJRT_Error* SharedOutOfMemory() { return ToC(OutOfMemory()); }

PJRT_Error_Code CodeOfError(const PJRT_Error* error) {
  return PJRT_Error_Code(int(FromC(error)->status.code()));
}

#if PJRT_SCAFFOLD_HAS_PJRT_Error_FunctionTable
void DestroyError(PJRT_Error* error) {
  PJRT_Error_Destroy_Args args = {};
  args.error = error;
  Layer::Error_Destroy(&args);
}

void ErrorMessage(const PJRT_Error* error, const char** message, size_t* message_size) {
  *message = FromC(error)->status.message().data();
  *message_size = FromC(error)->status.message().size();
}

PJRT_Error_Code ErrorCode(const PJRT_Error* error) { return CodeOfError(error); }

void ErrorPayloads(const PJRT_Error* error, PJRT_Error_PayloadVisitor visitor, void* user_arg) {
  for (const auto& [key, value] : FromC(error)->status.payloads()) {
    visitor(key.data(), key.size(), value.data(), value.size(), user_arg);
  }
}
#endif

}  // namespace

PJRT_Error* MakeError(Status status) noexcept {
  if (status.ok()) return nullptr;
  Error* error = new (std::nothrow) Error(std::move(status));
  return ToC(error != nullptr ? error : OutOfMemory());
}

Status TakeError(PJRT_Error* error) {
  if (error == nullptr) return Status();
  Status status = FromC(error)->status;
  if (FromC(error) != OutOfMemory()) delete FromC(error);
  return status;
}

Status MakeStatus(const PJRT_Error_Code& code, const char* message, size_t message_size,
                  Status::Payloads payloads) {
  const int raw = Raw(code);
  const bool known = raw >= 0 && raw <= int(Code::kUnauthenticated);
  return Status(known ? Code(raw) : Code::kUnknown,
                message == nullptr ? std::string() : std::string(message, message_size),
                std::move(payloads));
}

Status CheckPointer(const void* pointer, size_t bytes, const char* name, const char* function) {
  if (pointer != nullptr || bytes == 0) return Status();
  return InvalidArgument(std::string(function) + ": " + name + " is null, but it should point to " +
                         std::to_string(bytes) + " bytes");
}

Status CheckPart(int64_t offset, int64_t size, size_t bytes, const char* function) {
  const int64_t all = int64_t(bytes);
  if (offset >= 0 && size >= 0 && offset <= all && size <= all - offset) return Status();
  return InvalidArgument(std::string(function) + ": offset " + std::to_string(offset) +
                         " and transfer_size " + std::to_string(size) +
                         " reach outside of the buffer, which has " + std::to_string(bytes) +
                         " bytes");
}

Status::Payloads ReadPayloads(const PJRT_NamedValue* values, size_t num_values) {
  Status::Payloads payloads;
  const generated::StructArray<const PJRT_NamedValue> array(values, num_values);
  for (size_t i = 0; i < array.size(); ++i) {
    const PJRT_NamedValue& value = array[i];
    if (Raw(value.type) != int(PJRT_NamedValue_kString)) continue;
    payloads.emplace_back(std::string(value.name, value.name_size),
                          std::string(value.string_value, value.value_size));
  }
  return payloads;
}

PJRT_Error* CallbackError(PJRT_Error_Code code, const char* message, size_t message_size) {
  return generated::MakeError(code, {message, message_size});  // which throws nothing
}

void Layer::Error_Destroy(PJRT_Error_Destroy_Args* args) {
  Error* error = FromC(args->error);
  if (error != OutOfMemory()) delete error;
}

void Layer::Error_Message(PJRT_Error_Message_Args* args) {
  args->message = FromC(args->error)->status.message().data();
  args->message_size = FromC(args->error)->status.message().size();
}

PJRT_Error* Layer::Error_GetCode(PJRT_Error_GetCode_Args* args) {
  args->code = CodeOfError(args->error);
  return nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_Error_ForEachPayload
PJRT_Error* Layer::Error_ForEachPayload(PJRT_Error_ForEachPayload_Args* args) {
  for (const auto& [key, value] : FromC(args->error)->status.payloads()) {
    args->visitor(key.data(), key.size(), value.data(), value.size(), args->user_arg);
  }
  return nullptr;
}
#endif

}  // namespace PJRT_PLUGIN_NS::plugin

namespace PJRT_PLUGIN_NS::generated {

PJRT_Error* MakeError(PJRT_Error_Code code, std::string_view message) noexcept {
  try {
    return plugin::MakeError(plugin::MakeStatus(code, message.data(), message.size()));
  } catch (const std::exception&) {
    return plugin::SharedOutOfMemory();
  }
}

PJRT_Error* MakeUnimplemented(const char* function) noexcept {
  try {
    return plugin::MakeError(backend::Unimplemented(
        std::string(function) + " is not implemented by the " + kPlatformName +
        " plugin; to implement it, hide the default in csrc/vendor/overrides.h"));
  } catch (const std::exception&) {
    return plugin::SharedOutOfMemory();
  }
}

PJRT_Error_Code CodeOf(const PJRT_Error* error) noexcept { return plugin::CodeOfError(error); }

}  // namespace PJRT_PLUGIN_NS::generated
