#ifndef PROGRAM_BYTECODE_LITERAL_H_
#define PROGRAM_BYTECODE_LITERAL_H_

// Constant tensors as bytecode stores them: little-endian elements in row-major order, one alone
// when all are equal, booleans eight to a byte.

#include <string_view>

#include "generated/config.h"
#include "program/bytecode_cursor.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// A constant of the static tensor type `type` from its stored bytes. Fails `in` when their number
// does not fit.
Literal DecodeLiteral(const Type& type, std::string_view raw, Cursor& in);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_BYTECODE_LITERAL_H_
