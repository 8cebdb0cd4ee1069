// The two extensions through which frameworks hand over foreign functions. FFI: types, data for
// executions, and, since API 0.73, handlers of one stage. Custom calls: handlers of several stages,
// at every version; GPUs had it first and gave it its name, but it says nothing of GPUs.

#include <string_view>

#include "generated/features.h"
#include "generated/guard.h"
#include "generated/pjrt_extensions.h"
#include "plugin/execute_context.h"
#include "plugin/extensions.h"
#include "plugin/ffi_handlers.h"
#include "plugin/ffi_types.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// What jax.ffi.register_ffi_target calls the typed FFI.
constexpr int kTypedFfi = 1;

#if PJRT_SCAFFOLD_HAS_PJRT_FFI_Type_Register_Args
PJRT_Error* FfiTypeRegister(PJRT_FFI_Type_Register_Args* args) {
  PJRT_PLUGIN_RETURN_IF_C_ERROR(
      CheckPointer(args->type_name, args->type_name_size, "type_name", "PJRT_FFI_Type_Register"));
  return MakeError(
      RegisterFfiType({args->type_name, args->type_name_size}, &args->type_id,
                      args->type_info == nullptr ? nullptr : args->type_info->deleter));
}
#else
PJRT_Error* FfiTypeRegister(PJRT_FFI_TypeID_Register_Args* args) {
  PJRT_PLUGIN_RETURN_IF_C_ERROR(
      CheckPointer(args->type_name, args->type_name_size, "type_name", "PJRT_FFI_TypeID_Register"));
  return MakeError(
      RegisterFfiType({args->type_name, args->type_name_size}, &args->type_id, nullptr));
}
#endif

PJRT_Error* FfiUserDataAdd(PJRT_FFI_UserData_Add_Args* args) {
  FfiDeleter deleter = nullptr;
#if PJRT_SCAFFOLD_HAS_PJRT_FFI_UserData_deleter
  deleter = args->user_data.deleter;
#endif
  return MakeError(
      FromC(args->context)->user_data->Add(args->user_data.type_id, args->user_data.data, deleter));
}

#if PJRT_SCAFFOLD_HAS_PJRT_FFI_Register_Handler
PJRT_Error* FfiRegisterHandler(PJRT_FFI_Register_Handler_Args* args) {
  constexpr char kFunction[] = "PJRT_FFI_Register_Handler";
  PJRT_PLUGIN_RETURN_IF_C_ERROR(
      CheckPointer(args->target_name, args->target_name_size, "target_name", kFunction));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(
      CheckPointer(args->platform_name, args->platform_name_size, "platform_name", kFunction));
  FfiHandler handler;
  handler.execute = reinterpret_cast<XLA_FFI_Handler*>(args->handler);
  return MakeError(RegisterFfiHandler({args->target_name, args->target_name_size},
                                      {args->platform_name, args->platform_name_size}, handler,
                                      uint32_t(Raw(args->traits))));
}
#endif

PJRT_Error* RegisterCustomCall(PJRT_Gpu_Register_Custom_Call_Args* args) {
  constexpr char kFunction[] = "PJRT_Gpu_Register_Custom_Call";
  PJRT_PLUGIN_RETURN_IF_C_ERROR(
      CheckPointer(args->function_name, args->function_name_size, "function_name", kFunction));
  const std::string_view name(args->function_name, args->function_name_size);
  if (args->api_version != kTypedFfi) {
    return MakeError(
        Unimplemented(std::string(kFunction) + ": " + std::string(name) +
                      " has the custom call API version " + std::to_string(args->api_version) +
                      "; this plugin calls handlers of version 1, the typed FFI (jax.ffi)"));
  }
  const auto stage = [](void* function) { return reinterpret_cast<XLA_FFI_Handler*>(function); };
  uint32_t traits = 0;
#if PJRT_SCAFFOLD_HAS_PJRT_Gpu_Register_Custom_Call_Args_traits
  traits = args->traits;
#endif
  return MakeError(
      RegisterFfiHandler(name, "",
                         {stage(args->handler_instantiate), stage(args->handler_prepare),
                          stage(args->handler_initialize), stage(args->handler_execute)},
                         traits));
}

}  // namespace

PJRT_Extension_Base* FfiExtension(PJRT_Extension_Base* next) {
  using generated::Guard;
  static PJRT_FFI_Extension extension = {};
#if PJRT_SCAFFOLD_HAS_PJRT_FFI_Extension_type_register
  extension.type_register = &Guard<&FfiTypeRegister>::Call;
#else
  extension.type_id_register = &Guard<&FfiTypeRegister>::Call;
#endif
  extension.user_data_add = &Guard<&FfiUserDataAdd>::Call;
#if PJRT_SCAFFOLD_HAS_PJRT_FFI_Register_Handler
  extension.register_handler = &Guard<&FfiRegisterHandler>::Call;
#endif
  return LinkExtension(&extension, PJRT_Extension_Type_FFI, next);
}

PJRT_Extension_Base* CustomCallExtension(PJRT_Extension_Base* next) {
  static PJRT_Gpu_Custom_Call extension = {};
  extension.custom_call = &generated::Guard<&RegisterCustomCall>::Call;
#if PJRT_SCAFFOLD_HAS_PJRT_Gpu_Custom_Call_custom_call_handles_traits
  extension.custom_call_handles_traits = true;
#endif
  return LinkExtension(&extension, PJRT_Extension_Type_Gpu_Custom_Call, next);
}

}  // namespace PJRT_PLUGIN_NS::plugin
