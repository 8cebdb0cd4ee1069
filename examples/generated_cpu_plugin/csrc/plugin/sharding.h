#ifndef PLUGIN_SHARDING_H_
#define PLUGIN_SHARDING_H_

// A sharding as the C API carries it: an OpSharding message.

#include <string>

#include "backend/executable.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::plugin {

std::string WriteOpSharding(const backend::Sharding& sharding);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_SHARDING_H_
