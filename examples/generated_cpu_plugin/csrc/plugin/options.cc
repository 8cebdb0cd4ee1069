#include "plugin/options.h"

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "generated/array.h"
#include "plugin/handle.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using backend::InvalidArgument;
using backend::Options;
using backend::OptionSpec;
using backend::Result;
using backend::Status;

// Declared by no driver, sent by every distributed job.
constexpr int64_t kMaxInt = std::numeric_limits<int>::max();
constexpr OptionSpec kJobOptions[] = {
    {.name = "node_id",
     .help = "this process among those of the job",
     .default_value = int64_t{0},
     .min = 0,
     .max = kMaxInt},
    {.name = "num_nodes",
     .help = "processes of the job",
     .default_value = int64_t{1},
     .min = 1,
     .max = kMaxInt},
    {.name = "partition_index",
     .help = "slice of the job",
     .default_value = int64_t{0},
     .min = 0,
     .max = kMaxInt},
};

// Declared by no driver, and of no effect: what clients ask of a GPU's allocator. They send it to
// every plugin with the extension that registers custom calls, which is named after GPUs.
constexpr OptionSpec kAllocatorOptions[] = {
    {.name = "allocator", .help = "name of the allocator", .default_value = std::string_view()},
    {.name = "collective_memory_size",
     .help = "bytes for collectives",
     .default_value = int64_t{0},
     .min = 0},
    {.name = "memory_fraction", .help = "share of the device's memory", .default_value = 1.0},
    {.name = "preallocate", .help = "take that share at once", .default_value = false},
};

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// "an integer from 1 to 64"
std::string Accepts(const OptionSpec& spec) {
  if (std::holds_alternative<bool>(spec.default_value)) return "true or false";
  if (std::holds_alternative<double>(spec.default_value)) return "a number";
  if (std::holds_alternative<std::string_view>(spec.default_value)) return "text";
  using Limits = std::numeric_limits<int64_t>;
  std::string text = "an integer";
  const bool low = spec.min != Limits::min();
  const bool high = spec.max != Limits::max();
  if (low && high)
    return text + " from " + std::to_string(spec.min) + " to " + std::to_string(spec.max);
  if (low) return text + " of at least " + std::to_string(spec.min);
  if (high) return text + " of at most " + std::to_string(spec.max);
  return text;
}

std::string ListOptions(std::span<const OptionSpec> specs) {
  if (specs.empty()) return "this plugin has no options";
  std::string text = "the options are ";
  for (size_t i = 0; i < specs.size(); ++i) {
    if (i != 0) text += "; ";
    text +=
        std::string(specs[i].name) + " (" + Accepts(specs[i]) + "): " + std::string(specs[i].help);
  }
  return text;
}

// `where`: "option num_devices" or "environment variable ACME_NUM_DEVICES".
Status Refuse(const OptionSpec& spec, std::string_view where, std::string_view seen) {
  return InvalidArgument(std::string(where) + " is " + std::string(seen) + "; give " +
                         Accepts(spec) + " (" + std::string(spec.help) + ")");
}

std::optional<bool> ReadBool(std::string_view text) {
  std::string lower;
  for (char c : text) lower += char(std::tolower(static_cast<unsigned char>(c)));
  if (lower == "true" || lower == "1" || lower == "yes" || lower == "on") return true;
  if (lower == "false" || lower == "0" || lower == "no" || lower == "off") return false;
  return std::nullopt;
}

Result<Options::Value> InRange(int64_t value, const OptionSpec& spec, std::string_view where) {
  if (value < spec.min || value > spec.max) return Refuse(spec, where, std::to_string(value));
  return Options::Value(value);
}

Result<Options::Value> FromText(std::string_view text, const OptionSpec& spec,
                                std::string_view where) {
  if (std::holds_alternative<std::string_view>(spec.default_value)) {
    return Options::Value(std::string(text));
  }
  if (std::holds_alternative<bool>(spec.default_value)) {
    if (std::optional<bool> value = ReadBool(text)) return Options::Value(*value);
    return Refuse(spec, where, Quoted(text));
  }
  if (std::holds_alternative<double>(spec.default_value)) {
    const std::string copy(text);
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || end != copy.c_str() + copy.size()) return Refuse(spec, where, Quoted(text));
    return Options::Value(value);
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Refuse(spec, where, Quoted(text));
  }
  return InRange(value, spec, where);
}

// "0,2,3"
std::string Join(const int64_t* values, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += (i == 0 ? "" : ",") + std::to_string(values[i]);
  return text;
}

Result<Options::Value> FromNamedValue(const PJRT_NamedValue& given, const OptionSpec& spec) {
  const std::string where = "option " + std::string(spec.name);
  const bool wants_bool = std::holds_alternative<bool>(spec.default_value);
  const bool wants_double = std::holds_alternative<double>(spec.default_value);
  const bool wants_text = std::holds_alternative<std::string_view>(spec.default_value);
  switch (Raw(given.type)) {
    case PJRT_NamedValue_kString:
      return FromText({given.string_value, given.value_size}, spec, where);
    case PJRT_NamedValue_kInt64:
      if (wants_double) return Options::Value(double(given.int64_value));
      if (wants_text) return Options::Value(std::to_string(given.int64_value));
      if (wants_bool) {
        if (given.int64_value == 0 || given.int64_value == 1) {
          return Options::Value(given.int64_value == 1);
        }
        return Refuse(spec, where, std::to_string(given.int64_value));
      }
      return InRange(given.int64_value, spec, where);
    case PJRT_NamedValue_kInt64List: {
      std::string text = Join(given.int64_array_value, given.value_size);
      if (wants_text) return Options::Value(std::move(text));
      return Refuse(spec, where, "the list [" + text + "]");
    }
    case PJRT_NamedValue_kFloat:
      if (wants_double) return Options::Value(double(given.float_value));
      return Refuse(spec, where, std::to_string(given.float_value));
    case PJRT_NamedValue_kBool:
      if (wants_bool) return Options::Value(given.bool_value);
      return Refuse(spec, where, given.bool_value ? "the boolean true" : "the boolean false");
    default:
      return Refuse(spec, where, "a value of unknown type " + std::to_string(Raw(given.type)));
  }
}

Options::Value DefaultValue(const OptionSpec& spec) {
  if (const auto* text = std::get_if<std::string_view>(&spec.default_value)) {
    return std::string(*text);
  }
  if (const auto* flag = std::get_if<bool>(&spec.default_value)) return *flag;
  if (const auto* number = std::get_if<double>(&spec.default_value)) return *number;
  return std::get<int64_t>(spec.default_value);
}

std::string EnvironmentName(std::string_view option) {
  std::string name = std::string(kEnvPrefix) + "_";
  for (char c : option) name += char(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

const OptionSpec* Find(std::span<const OptionSpec> specs, std::string_view name) {
  for (const OptionSpec& spec : specs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

}  // namespace

Result<backend::DriverOptions> ParseOptions(std::span<const PJRT_NamedValue> given,
                                            std::span<const OptionSpec> specs, GetEnv get_env) {
  Options options;
  for (const OptionSpec& spec : specs) {
    options.Set(spec.name, DefaultValue(spec));
    const std::string variable = EnvironmentName(spec.name);
    const char* text = get_env(variable.c_str());
    if (text == nullptr || *text == '\0') continue;
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Options::Value value,
                                 FromText(text, spec, "environment variable " + variable));
    options.Set(spec.name, std::move(value));
  }

  Options job;
  for (const OptionSpec& spec : kJobOptions) job.Set(spec.name, DefaultValue(spec));
  for (const PJRT_NamedValue& one : given) {
    const std::string_view name(one.name, one.name_size);
    const OptionSpec* declared = Find(specs, name);
    const OptionSpec* known_job = Find(kJobOptions, name);
    const OptionSpec* ignored = declared == nullptr ? Find(kAllocatorOptions, name) : nullptr;
    if (declared == nullptr && known_job == nullptr && ignored == nullptr) {
      return InvalidArgument("PJRT_Client_Create: the " + std::string(kPlatformName) +
                             " plugin has no option " + Quoted(name) + "; " + ListOptions(specs));
    }
    if (declared != nullptr) {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(Options::Value value, FromNamedValue(one, *declared));
      options.Set(name, std::move(value));
    }
    if (known_job != nullptr) {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(Options::Value value, FromNamedValue(one, *known_job));
      job.Set(name, std::move(value));
    }
    if (ignored != nullptr) PJRT_PLUGIN_RETURN_IF_ERROR(FromNamedValue(one, *ignored).status());
  }

  backend::DriverOptions result;
  result.options = std::move(options);
  result.process_index = int(job.Int("node_id"));
  result.num_processes = int(job.Int("num_nodes"));
  if (result.process_index >= result.num_processes) {
    return InvalidArgument("PJRT_Client_Create: node_id is " +
                           std::to_string(result.process_index) + " but num_nodes is " +
                           std::to_string(result.num_processes) + "; node_id must be smaller");
  }
  return result;
}

Result<backend::DriverOptions> ReadCreateOptions(const PJRT_NamedValue* options,
                                                 size_t num_options) {
  const generated::StructArray<const PJRT_NamedValue> array(options, num_options);
  std::vector<PJRT_NamedValue> given;
  for (size_t i = 0; i < array.size(); ++i) given.push_back(array[i]);
  return ParseOptions(given, backend::DriverOptionSpecs(),
                      [](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace PJRT_PLUGIN_NS::plugin
