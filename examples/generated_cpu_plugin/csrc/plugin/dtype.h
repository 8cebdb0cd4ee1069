#ifndef PLUGIN_DTYPE_H_
#define PLUGIN_DTYPE_H_

// PJRT_Buffer_Type from and to DType, by one table. A type that the API version lacks has no
// PJRT_Buffer_Type.

#include "backend/dtype.h"
#include "backend/status.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"

namespace PJRT_PLUGIN_NS::plugin {

// INVALID_ARGUMENT, naming `function` and listing the types, for a type that is not in the table.
backend::Result<backend::DType> ToDType(const PJRT_Buffer_Type& type, const char* function);

// PJRT_Buffer_Type_INVALID when this API version has no such type.
PJRT_Buffer_Type ToBufferType(backend::DType dtype);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_DTYPE_H_
