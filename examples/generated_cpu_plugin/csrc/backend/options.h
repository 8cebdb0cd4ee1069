#ifndef BACKEND_OPTIONS_H_
#define BACKEND_OPTIONS_H_

// Options of a client: declared once in a table, then parsed, range-checked and listed by the
// plugin layer. They come from jax's create options (as typed values), from
// JAX_PJRT_CLIENT_CREATE_OPTIONS (as strings) and from the environment <PLUGIN>_<NAME>; an explicit
// option wins over the environment, which wins over the default.
//
//   constexpr OptionSpec kSpecs[] = {
//       {.name = "num_devices", .help = "how many devices", .default_value = int64_t{4}, .min = 1,
//       .max = 64}};

#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "backend/attribute.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

struct OptionSpec {
  std::string_view name;
  std::string_view help;
  // The alternative held is the option's type.
  std::variant<int64_t, bool, double, std::string_view> default_value;
  // For integers.
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};

// Every declared option has a value here.
class Options {
 public:
  using Value = std::variant<int64_t, bool, double, std::string>;
  void Set(std::string_view name, Value value) { values_[std::string(name)] = std::move(value); }
  // Only names that were declared, with the type that was declared. Another one is a mistake in the
  // driver: an exception, which becomes the error of the function that asked.
  int64_t Int(std::string_view name) const { return std::get<int64_t>(Get(name)); }
  bool Bool(std::string_view name) const { return std::get<bool>(Get(name)); }
  double Double(std::string_view name) const { return std::get<double>(Get(name)); }
  const std::string& String(std::string_view name) const {
    return std::get<std::string>(Get(name));
  }

 private:
  const Value& Get(std::string_view name) const {
    const auto at = values_.find(name);
    if (at != values_.end()) return at->second;
    throw std::out_of_range("the driver declares no option " + std::string(name));
  }
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_OPTIONS_H_
