#ifndef PLUGIN_KEY_VALUE_STORE_H_
#define PLUGIN_KEY_VALUE_STORE_H_

// The job's key-value store, out of the callbacks that PJRT_Client_Create gets.

#include "backend/driver.h"
#include "backend/status.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"

namespace PJRT_PLUGIN_NS::plugin {

// INVALID_ARGUMENT when the callbacks are not there. The functions keep nothing of `args` but the
// callbacks and their user arguments, and may be called from any thread for the client's life.
backend::Result<backend::KeyValueStore> MakeKeyValueStore(const PJRT_Client_Create_Args& args);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_KEY_VALUE_STORE_H_
