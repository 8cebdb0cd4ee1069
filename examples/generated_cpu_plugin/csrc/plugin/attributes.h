#ifndef PLUGIN_ATTRIBUTES_H_
#define PLUGIN_ATTRIBUTES_H_

// Attributes as the C API shows them: an array of PJRT_NamedValue, and the memory behind its
// pointers.

#include <string>
#include <utility>
#include <vector>

#include "backend/attribute.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"

namespace PJRT_PLUGIN_NS::plugin {

class NamedValues {
 public:
  NamedValues() = default;
  explicit NamedValues(std::vector<backend::Attribute> attributes);
  // The views point into this object's heap memory, which moves along.
  NamedValues(NamedValues&&) = default;
  NamedValues& operator=(NamedValues&&) = default;

  const PJRT_NamedValue* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  std::vector<backend::Attribute> attributes_;
  std::vector<PJRT_NamedValue> values_;
};

// Attributes of a device as frameworks can take them: string, int64 and list of int64. A bool
// becomes an integer, a float text; JAX aborts at any other type.
std::vector<backend::Attribute> DeviceAttributes(std::vector<backend::Attribute> attributes);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_ATTRIBUTES_H_
