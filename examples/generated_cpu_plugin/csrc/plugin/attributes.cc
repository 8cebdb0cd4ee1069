#include "plugin/attributes.h"

#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <variant>

namespace PJRT_PLUGIN_NS::plugin {
namespace {

PJRT_NamedValue View(const backend::Attribute& attribute) {
  PJRT_NamedValue view = {};
  view.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  view.name = attribute.name.data();
  view.name_size = attribute.name.size();
  view.value_size = 1;
  std::visit(
      [&view](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          view.type = PJRT_NamedValue_kString;
          view.string_value = value.data();
          view.value_size = value.size();
        } else if constexpr (std::is_same_v<T, int64_t>) {
          view.type = PJRT_NamedValue_kInt64;
          view.int64_value = value;
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          view.type = PJRT_NamedValue_kInt64List;
          view.int64_array_value = value.data();
          view.value_size = value.size();
        } else if constexpr (std::is_same_v<T, float>) {
          view.type = PJRT_NamedValue_kFloat;
          view.float_value = value;
        } else {
          static_assert(std::is_same_v<T, bool>);
          view.type = PJRT_NamedValue_kBool;
          view.bool_value = value;
        }
      },
      attribute.value);
  return view;
}

std::string Text(float value) {
  char text[32];
  const int size = std::snprintf(text, sizeof(text), "%g", double(value));
  return std::string(text, size);
}

}  // namespace

NamedValues::NamedValues(std::vector<backend::Attribute> attributes)
    : attributes_(std::move(attributes)) {
  values_.reserve(attributes_.size());
  for (const backend::Attribute& attribute : attributes_) values_.push_back(View(attribute));
}

std::vector<backend::Attribute> DeviceAttributes(std::vector<backend::Attribute> attributes) {
  for (backend::Attribute& attribute : attributes) {
    if (const bool* flag = std::get_if<bool>(&attribute.value)) {
      attribute.value = int64_t(*flag);
    } else if (const float* number = std::get_if<float>(&attribute.value)) {
      attribute.value = Text(*number);
    }
  }
  return attributes;
}

}  // namespace PJRT_PLUGIN_NS::plugin
