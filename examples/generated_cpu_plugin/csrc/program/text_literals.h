#ifndef PROGRAM_TEXT_LITERALS_H_
#define PROGRAM_TEXT_LITERALS_H_

// Numbers in text, alone and as the elements of constant tensors. Each begins after the word that
// announces it.

#include "generated/config.h"
#include "program/ir.h"
#include "program/text_cursor.h"

namespace PJRT_PLUGIN_NS::program {

// dense<[1, 2]> : tensor<2xi32>, after "dense"; also dense<"0x..."> with all bytes.
Attribute ParseDense(TextCursor& in);
// array<i64: 1, 2>, after "array": Ints, of floats a Literal.
Attribute ParseArray(TextCursor& in);
// 1, -2.5 : f32
Attribute ParseNumber(TextCursor& in);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TEXT_LITERALS_H_
