#ifndef PROGRAM_TEXT_ASSEMBLY_H_
#define PROGRAM_TEXT_ASSEMBLY_H_

// The form that each operation has of its own in MLIR's text, which tools print by default:
//
//   stablehlo.pad %0, %1, low = [1, 0], high = [0, 0], interior = [0, 0] : (...) -> ...
//
// Nearly all are operands, then "name = value" for some of their attributes, then the others in
// braces, then types: text_assembly_clauses.cc has the table of those names. What is otherwise is
// in text_assembly.cc, and with regions in text_assembly_regions.cc.

#include "generated/config.h"
#include "program/text_ops.h"

namespace PJRT_PLUGIN_NS::program {

// Reads on after the op's name, up to its location.
void ReadAssembly(TextOps& ops, TextOp& op);

// text_assembly_clauses.cc

// %0, %1, name = value
void ReadClauses(TextOps& ops, TextOp& op);
// {name = value} : types
void ReadEnd(TextOps& ops, TextOp& op);
// : types. What StableHLO writes in short is the type of all operands and the result, or what the
// op can be completed from.
void ReadTypes(TextOps& ops, TextOp& op);

// text_assembly_regions.cc

void ReadReduce(TextOps& ops, TextOp& op);
void ReadWhile(TextOps& ops, TextOp& op);
void ReadManualComputation(TextOps& ops, TextOp& op);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TEXT_ASSEMBLY_H_
