#ifndef PLUGIN_BYTES_H_
#define PLUGIN_BYTES_H_

// Bytes that leave the plugin: GiveBytes hands them to the caller of the C API as a pointer and a
// size, the opaque object behind them, and its deleter.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::plugin {

// A hash that is the same in every process.
inline uint64_t Fnv1a(std::string_view bytes) {
  uint64_t hash = 14695981039346656037u;
  for (char c : bytes) hash = (hash ^ uint8_t(c)) * 1099511628211u;
  return hash;
}

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
