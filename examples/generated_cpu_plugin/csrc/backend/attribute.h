#ifndef BACKEND_ATTRIBUTE_H_
#define BACKEND_ATTRIBUTE_H_

// Named values, as PJRT_NamedValue carries them: device attributes, cost properties, options.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

using AttributeValue = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;

struct Attribute {
  std::string name;
  AttributeValue value;
};

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_ATTRIBUTE_H_
