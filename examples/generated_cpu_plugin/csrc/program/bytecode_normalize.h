#ifndef PROGRAM_BYTECODE_NORMALIZE_H_
#define PROGRAM_BYTECODE_NORMALIZE_H_

// VHLO has one stored form for every attribute of every version, with values that stand for
// absence. Here they become what op_table.h declares, so that consumers see one form: lists of
// integers are Ints, an absent optional attribute is not there, an attribute younger than the op's
// version has its default.

#include "generated/config.h"
#include "program/bytecode_cursor.h"
#include "program/bytecode_types.h"
#include "program/ir.h"
#include "program/op_table.h"

namespace PJRT_PLUGIN_NS::program {

// Brings `attribute`, as decoded, to the form of `info`. False: it stands for absence. Fails `in`
// when it is of another kind.
bool NormalizeAttribute(const AttrInfo& info, Attribute& attribute, Budget& budget, Cursor& in);

// The value of an attribute that the op's version does not store yet.
Attribute DefaultAttribute(AttrKind kind);

// What depends on the types: the type of a comparison, a sort's dimension counted from the end.
void NormalizeOp(Op& op);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_BYTECODE_NORMALIZE_H_
