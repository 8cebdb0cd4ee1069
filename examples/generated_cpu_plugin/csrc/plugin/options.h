#ifndef PLUGIN_OPTIONS_H_
#define PLUGIN_OPTIONS_H_

// Create options of a client, read against the table that the driver declares (backend/options.h).
// A value has the type of its option, or is text that spells one: JAX_PJRT_CLIENT_CREATE_OPTIONS
// and the environment deliver text only.

#include <cstddef>
#include <span>

#include "backend/driver.h"
#include "backend/options.h"
#include "backend/status.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"

namespace PJRT_PLUGIN_NS::plugin {

// Gives the value of an environment variable, or null: std::getenv, but for tests.
using GetEnv = const char* (*)(const char* name);

// `given` wins over the environment <PLUGIN>_<NAME>, which wins over the default. INVALID_ARGUMENT
// for an option that is not declared (the message lists those that are, with types and ranges), for
// a value of another type and for one that is out of range. The options that frameworks add for
// jobs of several processes (node_id, num_nodes, partition_index) are known without being declared,
// and fill process_index and num_processes. So are those that clients send to whatever they take
// for a GPU (allocator, collective_memory_size, memory_fraction, preallocate): their type is
// checked and nothing comes of them, unless the driver declares them.
backend::Result<backend::DriverOptions> ParseOptions(std::span<const PJRT_NamedValue> given,
                                                     std::span<const backend::OptionSpec> specs,
                                                     GetEnv get_env);

// The options of a call of the C API, against what the driver declares and this process's
// environment.
backend::Result<backend::DriverOptions> ReadCreateOptions(const PJRT_NamedValue* options,
                                                          size_t num_options);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_OPTIONS_H_
