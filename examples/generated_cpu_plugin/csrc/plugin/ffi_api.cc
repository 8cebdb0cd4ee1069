#include "plugin/ffi_api.h"

#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "plugin/ffi_handlers.h"
#include "plugin/handle.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// ---- Behind the opaque pointers ----

struct FfiError {
  Status status;
};

FfiError* AsFfiError(XLA_FFI_Error* error) { return reinterpret_cast<FfiError*>(error); }

// The handler ends it once, on any thread; the runtime destroys it then.
struct FfiFuture {
  FfiFuture() : FfiFuture(backend::MakeCompletion()) {}
  explicit FfiFuture(std::pair<Completion, backend::Promise> pair)
      : done(std::move(pair.first)), promise(std::move(pair.second)) {}

  // Nothing here may be touched any more afterwards.
  void End(Status status) {
    const backend::Promise last = std::move(promise);
    last.Set(std::move(status));
  }

  Completion done;
  backend::Promise promise;
};

FfiFuture* AsFfiFuture(XLA_FFI_Future* future) { return reinterpret_cast<FfiFuture*>(future); }

Result<FfiContext*> ContextOf(XLA_FFI_InvokeContext* context) {
  if (context == nullptr) return InvalidArgument("the invoke context is null");
  return reinterpret_cast<FfiContext*>(context);
}

Result<backend::CallContext*> ExecutionOf(XLA_FFI_InvokeContext* context) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(FfiContext * found, ContextOf(context));
  if (found->execution != nullptr) return found->execution;
  return FailedPrecondition(
      "there is no execution while a program is compiled (stage instantiate); ask in a later "
      "stage");
}

// ---- Errors and futures ----

Status CreateError(XLA_FFI_Error_Create_Args& args, XLA_FFI_Error** error) {
  const int code = Raw(args.errc);
  const bool known = code >= 0 && code <= int(Code::kUnauthenticated);
  *error = reinterpret_cast<XLA_FFI_Error*>(new FfiError{
      Status(known ? Code(code) : Code::kUnknown, args.message == nullptr ? "" : args.message)});
  return Status();
}

// What versions before 0.4 have in its place ends after the message.
void GetErrorDetails(XLA_FFI_Error_GetDetails_Args* args) {
  const Status& status = AsFfiError(args->error)->status;
  // Of a string, so a zero follows it.
  args->message = status.ok() ? "" : status.message().data();
  if (args->struct_size >= XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE) {
    args->errc = static_cast<XLA_FFI_Error_Code>(status.code());
  }
}

void DestroyFfiError(XLA_FFI_Error_Destroy_Args* args) { delete AsFfiError(args->error); }

Status CreateFuture(XLA_FFI_Future_Create_Args& args) {
  args.future = reinterpret_cast<XLA_FFI_Future*>(new FfiFuture);
  return Status();
}

Status SetFutureAvailable(XLA_FFI_Future_SetAvailable_Args& args) {
  if (args.future == nullptr) return InvalidArgument("the future is null");
  AsFfiFuture(args.future)->End(Status());
  return Status();
}

Status SetFutureError(XLA_FFI_Future_SetError_Args& args) {
  if (args.future == nullptr) return InvalidArgument("the future is null");
  Status status = TakeFfiError(args.error);
  if (status.ok()) return InvalidArgument("the error is null or OK; call SetAvailable for success");
  AsFfiFuture(args.future)->End(std::move(status));
  return Status();
}

// ---- Registration ----

std::string_view SpanText(const XLA_FFI_ByteSpan& span) { return {span.ptr, span.len}; }

// Versions before 0.4 have one stage less in the bundle, so that the traits lie before its end.
Status RegisterHandler(XLA_FFI_Handler_Register_Args& args) {
  const XLA_FFI_Handler_Bundle& bundle = args.bundle;
  FfiHandler handler{bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute};
  uint32_t traits = 0;
  const size_t at = args.struct_size < XLA_FFI_Handler_Register_Args_STRUCT_SIZE
                        ? offsetof(XLA_FFI_Handler_Register_Args, bundle.record)
                        : offsetof(XLA_FFI_Handler_Register_Args, traits);
  std::memcpy(&traits, reinterpret_cast<const std::byte*>(&args) + at, sizeof(traits));
  return RegisterFfiHandler(SpanText(args.name), SpanText(args.platform), handler, traits);
}

Status RegisterType(XLA_FFI_Type_Register_Args& args) {
  if (args.type_id == nullptr) return InvalidArgument("type_id is null");
  const XLA_FFI_TypeInfo* info = args.type_info;
  return RegisterFfiType(SpanText(args.name), &args.type_id->type_id,
                         info == nullptr ? nullptr : info->deleter);
}

// ---- The context of a call ----

Status GetStream(XLA_FFI_Stream_Get_Args& args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::CallContext * execution, ExecutionOf(args.ctx));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(args.stream, execution->stream());
  return Status();
}

Status GetUserData(XLA_FFI_InvokeContext_Get_Args& args) {
  if (args.type_id == nullptr) return InvalidArgument("type_id is null");
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::CallContext * execution, ExecutionOf(args.ctx));
  const backend::UserData* data = execution->user_data();
  if (data == nullptr) {
    return NotFound(
        "the program was run without user data for foreign functions, where data of the "
        "type " +
        std::to_string(args.type_id->type_id) + " is asked for");
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN(args.data, data->Find(args.type_id->type_id));
  return Status();
}

// The state arguments as versions before 0.3 had them: there is only the stage instantiate. Those
// before 0.2 bring the deleter along, later ones know it from the type.
struct OldStateArgs {
  size_t struct_size;
  void* extension_start;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* state;
  FfiDeleter deleter;  // only before 0.2
};
constexpr size_t kOldState = offsetof(OldStateArgs, deleter);
static_assert(sizeof(OldStateArgs) == XLA_FFI_State_Set_Args_STRUCT_SIZE);

Result<FfiState*> StateOf(XLA_FFI_InvokeContext* context, int stage) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(FfiContext * found, ContextOf(context));
  const bool known = stage >= 0 && size_t(stage) < FfiContext::kStates;
  if (known && found->states[stage] != nullptr) return found->states[stage];
  return FailedPrecondition("the stage " + std::to_string(stage) + " keeps no state here");
}

// `minor`: of the handler.
bool HasOldStateArgs(size_t struct_size, int minor) {
  return struct_size < XLA_FFI_State_Set_Args_STRUCT_SIZE || minor < 2;
}

Status SetState(XLA_FFI_State_Set_Args& args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(const FfiContext* context, ContextOf(args.ctx));
  OldStateArgs old = {};
  int stage = XLA_FFI_ExecutionStage_INSTANTIATE;
  if (HasOldStateArgs(args.struct_size, context->minor)) {
    std::memcpy(&old, &args, context->minor < 2 ? sizeof(old) : kOldState);
  } else {
    old.type_id = args.type_id;
    old.state = args.state;
    stage = Raw(args.stage);
  }
  if (old.type_id == nullptr) return InvalidArgument("type_id is null");
  const int64_t type = old.type_id->type_id;
  if (context->minor >= 2) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(old.deleter, FindFfiDeleter(type));
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN(FfiState * state, StateOf(args.ctx, stage));
  return state->Set(type, old.deleter, old.state);
}

Status GetState(XLA_FFI_State_Get_Args& args) {
  if (args.struct_size < XLA_FFI_State_Get_Args_STRUCT_SIZE) {
    OldStateArgs old = {};
    std::memcpy(&old, &args, kOldState);
    if (old.type_id == nullptr) return InvalidArgument("type_id is null");
    PJRT_PLUGIN_ASSIGN_OR_RETURN(const FfiState* state,
                                 StateOf(args.ctx, XLA_FFI_ExecutionStage_INSTANTIATE));
    PJRT_PLUGIN_ASSIGN_OR_RETURN(old.state, state->Get(old.type_id->type_id));
    std::memcpy(&args, &old, kOldState);
    return Status();
  }
  if (args.type_id == nullptr) return InvalidArgument("type_id is null");
  PJRT_PLUGIN_ASSIGN_OR_RETURN(const FfiState* state, StateOf(args.ctx, Raw(args.stage)));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(args.state, state->Get(args.type_id->type_id));
  return Status();
}

Status AllocateDeviceMemory(XLA_FFI_DeviceMemory_Allocate_Args& args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::CallContext * execution, ExecutionOf(args.ctx));
  if (args.alignment == 0 || (args.alignment & (args.alignment - 1)) != 0) {
    return InvalidArgument("the alignment is " + std::to_string(args.alignment) +
                           "; it must be a power of two");
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN(args.data, execution->Allocate(args.size, args.alignment));
  return Status();
}

Status FreeDeviceMemory(XLA_FFI_DeviceMemory_Free_Args& args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::CallContext * execution, ExecutionOf(args.ctx));
  return execution->Free(args.data);
}

Status ScheduleTask(XLA_FFI_ThreadPool_Schedule_Args& args) {
  if (args.task == nullptr) return InvalidArgument("the task is null");
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::CallContext * execution, ExecutionOf(args.ctx));
  return execution->Schedule([task = args.task, data = args.data] { task(data); });
}

Status GetNumThreads(XLA_FFI_ThreadPool_NumThreads_Args& args) {
  if (args.num_threads == nullptr) return InvalidArgument("num_threads is null");
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::CallContext * execution, ExecutionOf(args.ctx));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(*args.num_threads, execution->num_threads());
  return Status();
}

Status GetRunId(XLA_FFI_RunId_Get_Args& args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(const backend::CallContext* execution, ExecutionOf(args.ctx));
  args.run_id = execution->run_id();
  return Status();
}

Status GetDeviceOrdinal(XLA_FFI_DeviceOrdinal_Get_Args& args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(const backend::CallContext* execution, ExecutionOf(args.ctx));
  args.device_ordinal = execution->device();
  return Status();
}

// Extensions are a runtime's own; this one has none.
Status FindExtension(XLA_FFI_InvokeContext_FindExtension_Args& args) {
  args.extension = nullptr;
  return Status();
}

// Frameworks cannot pass options of that kind through the PJRT C API, so there are none.
Status GetCustomOptions(XLA_FFI_CustomOptions_Get_Args& args) {
  static const XLA_FFI_Attrs none = {.struct_size = XLA_FFI_Attrs_STRUCT_SIZE,
                                     .extension_start = nullptr,
                                     .size = 0,
                                     .types = nullptr,
                                     .names = nullptr,
                                     .attrs = nullptr};
  args.attrs = &none;
  return Status();
}

// ---- The wall in front of all of them ----

// The shortest that any handler passes.
template <typename Args>
constexpr size_t kOldest = 0;
#define PJRT_PLUGIN_OLDEST(name, size) \
  template <>                          \
  constexpr size_t kOldest<XLA_FFI_##name##_Args> = size;
PJRT_PLUGIN_OLDEST(Error_Create, XLA_FFI_Error_Create_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(Future_Create, offsetof(XLA_FFI_Future_Create_Args, future))
PJRT_PLUGIN_OLDEST(Future_SetAvailable, XLA_FFI_Future_SetAvailable_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(Future_SetError, XLA_FFI_Future_SetError_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(Handler_Register,
                   offsetof(XLA_FFI_Handler_Register_Args, bundle.record) + sizeof(uint32_t))
PJRT_PLUGIN_OLDEST(Type_Register, XLA_FFI_Type_Register_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(Stream_Get, XLA_FFI_Stream_Get_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(InvokeContext_Get, XLA_FFI_InvokeContext_Get_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(InvokeContext_FindExtension,
                   XLA_FFI_InvokeContext_FindExtension_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(CustomOptions_Get, XLA_FFI_CustomOptions_Get_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(State_Set, kOldState)
PJRT_PLUGIN_OLDEST(State_Get, kOldState)
PJRT_PLUGIN_OLDEST(DeviceMemory_Allocate, XLA_FFI_DeviceMemory_Allocate_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(DeviceMemory_Free, XLA_FFI_DeviceMemory_Free_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(ThreadPool_Schedule, XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(ThreadPool_NumThreads, XLA_FFI_ThreadPool_NumThreads_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(RunId_Get, XLA_FFI_RunId_Get_Args_STRUCT_SIZE)
PJRT_PLUGIN_OLDEST(DeviceOrdinal_Get, XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE)
#undef PJRT_PLUGIN_OLDEST

// Refuses structs that are too short, and lets no exception out. `run` gets the arguments.
template <typename Args, typename Run>
XLA_FFI_Error* Enter(Args* args, Run run) noexcept {
  try {
    if (args->struct_size < kOldest<Args>) {
      return MakeFfiError(InvalidArgument(
          "an argument of XLA's FFI C API has " + std::to_string(args->struct_size) +
          " bytes where at least " + std::to_string(kOldest<Args>) +
          " are needed; compile the handler with the headers of a newer jaxlib"));
    }
    return MakeFfiError(run(*args));
  } catch (const std::exception& error) {
    return MakeFfiError(Internal(error.what()));
  }
}

template <auto kFunction>
struct FfiEntry;
template <typename Args, Status (*kFunction)(Args&)>
struct FfiEntry<kFunction> {
  static XLA_FFI_Error* Call(Args* args) noexcept { return Enter(args, kFunction); }
};

XLA_FFI_Error* ErrorCreate(XLA_FFI_Error_Create_Args* args) noexcept {
  XLA_FFI_Error* error = nullptr;
  XLA_FFI_Error* failure =
      Enter(args, [&](XLA_FFI_Error_Create_Args& checked) { return CreateError(checked, &error); });
  return failure == nullptr ? error : failure;
}

constexpr XLA_FFI_Api MakeFfiApi() {
  XLA_FFI_Api api = {};
  api.struct_size = XLA_FFI_Api_STRUCT_SIZE;
  api.api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
  api.api_version.major_version = XLA_FFI_API_MAJOR;
  api.api_version.minor_version = XLA_FFI_API_MINOR;
  api.internal_api = nullptr;  // XLA's own, for what is linked into it
  api.XLA_FFI_Error_Create = &ErrorCreate;
  api.XLA_FFI_Error_GetDetails = &GetErrorDetails;
  api.XLA_FFI_Error_Destroy = &DestroyFfiError;
  api.XLA_FFI_Handler_Register = &FfiEntry<&RegisterHandler>::Call;
  api.XLA_FFI_Stream_Get = &FfiEntry<&GetStream>::Call;
  api.XLA_FFI_Type_Register = &FfiEntry<&RegisterType>::Call;
  api.XLA_FFI_InvokeContext_Get = &FfiEntry<&GetUserData>::Call;
  api.XLA_FFI_State_Set = &FfiEntry<&SetState>::Call;
  api.XLA_FFI_State_Get = &FfiEntry<&GetState>::Call;
  api.XLA_FFI_DeviceMemory_Allocate = &FfiEntry<&AllocateDeviceMemory>::Call;
  api.XLA_FFI_DeviceMemory_Free = &FfiEntry<&FreeDeviceMemory>::Call;
  api.XLA_FFI_ThreadPool_Schedule = &FfiEntry<&ScheduleTask>::Call;
  api.XLA_FFI_ThreadPool_NumThreads = &FfiEntry<&GetNumThreads>::Call;
  api.XLA_FFI_Future_Create = &FfiEntry<&CreateFuture>::Call;
  api.XLA_FFI_Future_SetAvailable = &FfiEntry<&SetFutureAvailable>::Call;
  api.XLA_FFI_Future_SetError = &FfiEntry<&SetFutureError>::Call;
  api.XLA_FFI_RunId_Get = &FfiEntry<&GetRunId>::Call;
  api.XLA_FFI_DeviceOrdinal_Get = &FfiEntry<&GetDeviceOrdinal>::Call;
  api.XLA_FFI_InvokeContext_FindExtension = &FfiEntry<&FindExtension>::Call;
  api.XLA_FFI_CustomOptions_Get = &FfiEntry<&GetCustomOptions>::Call;
  return api;
}

constinit const XLA_FFI_Api kFfiApi = MakeFfiApi();

}  // namespace

const XLA_FFI_Api* FfiApi() { return &kFfiApi; }

XLA_FFI_Error* MakeFfiError(Status status) noexcept {
  if (status.ok()) return nullptr;
  return reinterpret_cast<XLA_FFI_Error*>(new (std::nothrow) FfiError{std::move(status)});
}

Status TakeFfiError(XLA_FFI_Error* error) {
  const std::unique_ptr<FfiError> taken(AsFfiError(error));
  return taken == nullptr ? Status() : taken->status;
}

Completion TakeFfiFuture(XLA_FFI_Future* future) {
  if (future == nullptr) return Completion();
  FfiFuture* taken = AsFfiFuture(future);
  Completion done = taken->done;
  done.OnReady([taken](const Status&) { delete taken; });
  return done;
}

}  // namespace PJRT_PLUGIN_NS::plugin
