#include "program/verify_function.h"

#include <string>
#include <string_view>
#include <vector>

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::Status;

// Checks the attributes of one argument or result; `taken`: which results arguments alias already,
// null for the attributes of a result.
Status CheckAttributes(const AttributeList& attributes, const std::string& place,
                       std::vector<bool>* taken) {
  for (const NamedAttribute& attribute : attributes) {
    const std::string& name = attribute.name;
    const Attribute& value = attribute.value;
    auto wrong = [&](std::string_view problem) {
      return backend::InvalidArgument("attribute " + name + " of " + place + " " +
                                      std::string(problem));
    };
    if (name == "tf.aliasing_output" && taken != nullptr) {
      const int64_t* output = value.As<int64_t>();
      if (output == nullptr) return wrong("is no integer; it is the index of a result");
      if (*output < 0 || *output >= int64_t(taken->size()))
        return wrong("is " + std::to_string(*output) + "; the function has " +
                     std::to_string(taken->size()) + " results, counted from 0");
      if ((*taken)[size_t(*output)])
        return wrong("is " + std::to_string(*output) +
                     ", the result that an earlier argument is donated to");
      (*taken)[size_t(*output)] = true;
    } else if (name == "jax.buffer_donor") {
      if (value.As<bool>() == nullptr) return wrong("is no boolean");
    } else if (name == "mhlo.memory_kind" || name == "mhlo.layout_mode") {
      if (value.As<std::string>() == nullptr) return wrong("is no text");
    } else if (name == "sdy.sharding") {
      if (value.As<Sharding>() == nullptr) return wrong("is no sharding");
    }
  }
  return {};
}

}  // namespace

Status CheckFunctionAttributes(const Function& function) {
  std::vector<bool> taken(function.result_attributes.size());
  for (size_t i = 0; i < function.argument_attributes.size(); ++i)
    PJRT_PLUGIN_RETURN_IF_ERROR(
        CheckAttributes(function.argument_attributes[i],
                        "argument " + std::to_string(i) + " of function " + function.name, &taken));
  for (size_t i = 0; i < function.result_attributes.size(); ++i)
    PJRT_PLUGIN_RETURN_IF_ERROR(
        CheckAttributes(function.result_attributes[i],
                        "result " + std::to_string(i) + " of function " + function.name, nullptr));
  return {};
}

}  // namespace PJRT_PLUGIN_NS::program
