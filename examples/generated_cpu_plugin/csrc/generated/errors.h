#ifndef GENERATED_ERRORS_H_
#define GENERATED_ERRORS_H_

// Errors as the generated code needs them. The plugin layer defines these functions in
// csrc/plugin/error.cc; everything else about PJRT_Error is the layer's own.
//
//   return MakeError(PJRT_Error_Code_INVALID_ARGUMENT, "PJRT_Client_Compile: program is null");

#include <string_view>

#include "generated/config.h"
#include "generated/pjrt_c_api.h"

namespace PJRT_PLUGIN_NS::generated {

// A new error, owned by the caller of the C API; never null. `message` is copied. When memory is
// short the answer is an error that needs none.
PJRT_Error* MakeError(PJRT_Error_Code code, std::string_view message) noexcept;

// The UNIMPLEMENTED error that names `function` ("PJRT_Client_Compile") and what to do about it.
PJRT_Error* MakeUnimplemented(const char* function) noexcept;

// The code of an error of ours; `error` is not null.
PJRT_Error_Code CodeOf(const PJRT_Error* error) noexcept;

}  // namespace PJRT_PLUGIN_NS::generated

#endif  // GENERATED_ERRORS_H_
