#ifndef PLUGIN_BYTES_H_
#define PLUGIN_BYTES_H_

// Bytes that the caller of the C API owns: a pointer and a size, the opaque object behind them, and
// its deleter.

#include <cstddef>
#include <string>
#include <utility>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::plugin {

template <typename Owner>
void GiveBytes(std::string bytes, const char** data, size_t* size, Owner** owner,
               void (**deleter)(Owner*)) {
  std::string* const held = new std::string(std::move(bytes));
  *data = held->data();
  *size = held->size();
  *owner = reinterpret_cast<Owner*>(held);
  *deleter = [](Owner* given) { delete reinterpret_cast<std::string*>(given); };
}

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_BYTES_H_
