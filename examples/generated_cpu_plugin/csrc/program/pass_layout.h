#ifndef PROGRAM_PASS_LAYOUT_H_
#define PROGRAM_PASS_LAYOUT_H_

// Layouts other than row-major, for backends that know only row-major arrays.
//
// Frameworks ask for the layout of main's arguments and results by an attribute mhlo.layout_mode:
// "default", "auto" (the backend may choose) or the dimensions in XLA's notation, the minor one
// first: "{0,1}" is a matrix by columns. Where one is asked for that is not row-major, the argument
// or result becomes the row-major array that lies in memory in just that way, and a transpose
// stands between it and the program:
//
//   func @main(%a: tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"})
//   func @main(%a: tensor<3x2xf32> {mhlo.minor_to_major = [0, 1]}) { %0 = transpose %a, [1, 0] ...
//
// Shardings of such arguments and results are turned with them. LogicalOf tells what frameworks
// must hear of them:
//
//   const Logical a = LogicalOf(main.argument_attributes[0], main.body.arguments[0]->type);
//   parameter.shape = {a.type.dtype, a.type.dims, a.minor_to_major};

#include <optional>

#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// After InlinePass, which leaves only main. "default" and "auto" are row-major. INVALID_ARGUMENT
// for a text that is no layout of the array, UNIMPLEMENTED for tiles and for elements packed
// otherwise than in whole bytes.
backend::Status LayoutPass(Module& module);

// An argument or result of main as frameworks see it.
struct Logical {
  Type type;
  std::optional<Sharding> sharding;  // nothing: all of it everywhere
  Ints minor_to_major;               // empty: row-major
};
Logical LogicalOf(const AttributeList& attributes, const Type& type);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_PASS_LAYOUT_H_
