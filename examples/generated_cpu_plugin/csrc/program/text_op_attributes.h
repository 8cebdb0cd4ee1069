#ifndef PROGRAM_TEXT_OP_ATTRIBUTES_H_
#define PROGRAM_TEXT_OP_ATTRIBUTES_H_

// What an op's attributes are in text and what op_table.h declares: MLIR writes some in groups
// (dimension numbers), enumerations by name, and leaves out what is the usual.

#include "generated/config.h"
#include "program/bytecode_types.h"
#include "program/text_ops.h"

namespace PJRT_PLUGIN_NS::program {

// Deals the attributes that `text` was written with out to its op. Fails for one that is unknown,
// of another kind, or missing.
void SetTextAttributes(TextOp& text, Budget& budget);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TEXT_OP_ATTRIBUTES_H_
