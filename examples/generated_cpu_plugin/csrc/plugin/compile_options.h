#ifndef PLUGIN_COMPILE_OPTIONS_H_
#define PLUGIN_COMPILE_OPTIONS_H_

// The compile options that frameworks serialize (CompileOptionsProto), read without XLA's protocol
// buffers.

#include <string>
#include <string_view>
#include <vector>

#include "backend/compiler.h"
#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::plugin {

// INVALID_ARGUMENT, with `function` in front, for bytes that are no such message, and for
// contradictions in it. No bytes are options too: one replica of one partition.
backend::Result<backend::CompileOptions> ReadCompileOptions(std::string_view bytes,
                                                            const char* function);

// DeviceAssignmentProto of ids [replica][partition].
std::string WriteDeviceAssignment(const std::vector<std::vector<int>>& ids);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_COMPILE_OPTIONS_H_
