#ifndef PLUGIN_ERROR_H_
#define PLUGIN_ERROR_H_

// PJRT_Error: a Status on the heap. Every failure is a new one, owned by the caller of the C API.
//
//   PJRT_Error* Layer::Client_Compile(PJRT_Client_Compile_Args* args) { return
//   MakeError(Compile(*args)); }

#include <cstddef>
#include <cstdint>

#include "backend/status.h"
#include "generated/config.h"
#include "generated/errors.h"
#include "generated/pjrt_c_api.h"

namespace PJRT_PLUGIN_NS::plugin {

using backend::Code;
using backend::FailedPrecondition;
using backend::Internal;
using backend::InvalidArgument;
using backend::NotFound;
using backend::Result;
using backend::Status;
using backend::Unimplemented;

// Null for OK.
PJRT_Error* MakeError(Status status) noexcept;

// What an error says, as a status again. Takes the error over and frees it; null is OK.
Status TakeError(PJRT_Error* error);

// A status from what a caller passes as code and text; a code outside of the list is UNKNOWN, OK
// stays OK.
Status MakeStatus(const PJRT_Error_Code& code, const char* message, size_t message_size,
                  Status::Payloads payloads = {});
// INVALID_ARGUMENT, naming the argument `name`, for a null pointer to more than no bytes.
Status CheckPointer(const void* pointer, size_t bytes, const char* name, const char* function);

// INVALID_ARGUMENT for a part, from `offset` on, that is not inside of a buffer of `bytes` bytes.
Status CheckPart(int64_t offset, int64_t size, size_t bytes, const char* function);

// The payloads among named values: the strings.
Status::Payloads ReadPayloads(const PJRT_NamedValue* values, size_t num_values);

// Callers hand over a PJRT_CallbackError with which foreign code makes errors of ours.
PJRT_Error* CallbackError(PJRT_Error_Code code, const char* message, size_t message_size);

}  // namespace PJRT_PLUGIN_NS::plugin

#define PJRT_PLUGIN_RETURN_IF_C_ERROR(expr)                                                      \
  do {                                                                                           \
    if (::PJRT_PLUGIN_NS::backend::Status pjrt_plugin_status = (expr); !pjrt_plugin_status.ok()) \
      return ::PJRT_PLUGIN_NS::plugin::MakeError(std::move(pjrt_plugin_status));                 \
  } while (false)

#define PJRT_PLUGIN_ASSIGN_OR_RETURN_C(lhs, expr) \
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C_INNER(PJRT_PLUGIN_CONCAT(result_, __LINE__), lhs, expr)
#define PJRT_PLUGIN_ASSIGN_OR_RETURN_C_INNER(result, lhs, expr)                  \
  auto result = (expr);                                                          \
  if (!result.ok()) return ::PJRT_PLUGIN_NS::plugin::MakeError(result.status()); \
  lhs = *std::move(result)

#endif  // PLUGIN_ERROR_H_
