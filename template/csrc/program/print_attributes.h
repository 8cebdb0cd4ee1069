#ifndef PROGRAM_PRINT_ATTRIBUTES_H_
#define PROGRAM_PRINT_ATTRIBUTES_H_

// Attributes as MLIR's StableHLO prints them in generic form. The IR holds dimension numbers one by
// one; here they are put together again: #stablehlo.dot<...>.

#include <string>
#include <string_view>

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// The texts of all elements, with commas between them.
template <typename Range, typename F>
std::string Join(const Range& range, F&& to_text) {
  std::string out;
  for (const auto& one : range) {
    if (!out.empty()) out += ", ";
    out += to_text(one);
  }
  return out;
}

// "text" with quotes and escapes.
std::string Quoted(std::string_view text);
// @name, quoted where it has to be.
std::string Symbol(std::string_view name);
// dense<[1.0, 2.0]> : tensor<2xf32>
std::string ToString(const Literal& literal);
// <["x"=2, "y"=4]>
std::string ToString(const Mesh& mesh);
// Any attribute by its own form: hints, parts of dictionaries.
std::string ToString(const Attribute& attribute);
// {name = value, ...}
std::string ToString(const AttributeList& list);
// The op's attributes without braces: name = value, ...
std::string AttributesToString(const Op& op);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_PRINT_ATTRIBUTES_H_
