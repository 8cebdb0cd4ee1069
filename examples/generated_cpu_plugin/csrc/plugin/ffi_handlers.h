#ifndef PLUGIN_FFI_HANDLERS_H_
#define PLUGIN_FFI_HANDLERS_H_

// The foreign functions that are registered, of the whole process: with them, a program's
// custom_call finds the code behind its name.

#include <cstdint>
#include <string_view>

#include "backend/custom_call.h"
#include "generated/config.h"
#include "generated/xla_ffi_c_api.h"
#include "plugin/error.h"

namespace PJRT_PLUGIN_NS::plugin {

// A handler: one function, or one for each stage, of which only the last must be there.
struct FfiHandler {
  XLA_FFI_Handler* instantiate = nullptr;  // once, when a program is compiled
  XLA_FFI_Handler* prepare = nullptr;      // these three for each execution
  XLA_FFI_Handler* initialize = nullptr;
  XLA_FFI_Handler* execute = nullptr;
  // As the handler says when it is asked.
  int minor = 0;  // version of the FFI C API that it was compiled with
  uint32_t traits = 0;

  friend bool operator==(const FfiHandler&, const FfiHandler&) = default;
};

// Asks the handler what it is, and enters it. `platform` is this plugin's, in any case, or empty.
// INVALID_ARGUMENT for another one, and for a handler that was compiled with a version that is not
// supported; ALREADY_EXISTS when another handler has the name.
Status RegisterFfiHandler(std::string_view name, std::string_view platform, FfiHandler handler,
                          uint32_t traits);

// What backends see of it; lives for ever.
backend::CustomCalls* RegisteredCustomCalls();

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_FFI_HANDLERS_H_
