#ifndef PROGRAM_TEXT_ATTRIBUTES_H_
#define PROGRAM_TEXT_ATTRIBUTES_H_

// Types and attributes in MLIR's text, as print_attributes.h writes them and MLIR itself.

#include "generated/config.h"
#include "program/ir.h"
#include "program/text_cursor.h"

namespace PJRT_PLUGIN_NS::program {

Type ParseType(TextCursor& in);
// <2x3xf32>, after "tensor"
Type ParseTensor(TextCursor& in);
// By its own form: enumerations are their spellings, #stablehlo.dot<...> and its like
// AttributeLists, a mesh the inlined mesh of a Sharding. Monostate for what no consumer reads.
Attribute ParseAttribute(TextCursor& in);
// {name = value, ...}
AttributeList ParseDictionary(TextCursor& in);
// [1, 2]
Ints ParseInts(TextCursor& in);
// <name = value, ...>; lists of integers become Ints.
AttributeList ParseParameters(TextCursor& in);
// [b, 0, f]x[0, i, o]->[b, 0, f]
AttributeList ParseConvDimensions(TextCursor& in);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TEXT_ATTRIBUTES_H_
