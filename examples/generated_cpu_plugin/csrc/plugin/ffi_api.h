#ifndef PLUGIN_FFI_API_H_
#define PLUGIN_FFI_API_H_

// XLA's FFI C API from the side of the runtime: the table of functions that foreign functions
// ("handlers") are called with, and what stands behind its opaque pointers. A handler may have been
// compiled with any version since 0.1.

#include <cstddef>
#include <cstdint>

#include "backend/completion.h"
#include "backend/custom_call.h"
#include "backend/status.h"
#include "generated/config.h"
#include "generated/xla_ffi_c_api.h"
#include "plugin/error.h"
#include "plugin/ffi_types.h"

namespace PJRT_PLUGIN_NS::plugin {

using backend::Completion;

// The table; lives for ever.
const XLA_FFI_Api* FfiApi();

// Null for OK.
XLA_FFI_Error* MakeFfiError(Status status) noexcept;
// Takes the error over and frees it; null is OK.
Status TakeFfiError(XLA_FFI_Error* error);
// Takes over what a handler left for the end of its work; null is ready and OK.
Completion TakeFfiFuture(XLA_FFI_Future* future);

// Behind XLA_FFI_InvokeContext.
struct FfiContext {
  static constexpr size_t kStates = 3;        // instantiate, prepare, initialize
  int minor = 0;                              // version that the handler was compiled with
  backend::CallContext* execution = nullptr;  // null while the program is compiled
  FfiState* states[kStates] = {};             // by stage

  XLA_FFI_InvokeContext* c() { return reinterpret_cast<XLA_FFI_InvokeContext*>(this); }
};

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_FFI_API_H_
