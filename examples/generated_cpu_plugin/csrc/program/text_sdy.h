#ifndef PROGRAM_TEXT_SDY_H_
#define PROGRAM_TEXT_SDY_H_

// Shardy's attributes in text, without the words that announce them.

#include <vector>

#include "generated/config.h"
#include "program/ir.h"
#include "program/text_cursor.h"

namespace PJRT_PLUGIN_NS::program {

// <["x"=4]>
Mesh ParseMesh(TextCursor& in);
// <@mesh, [{"x"}, {}]>
Sharding ParseSharding(TextCursor& in);
// [<@mesh, [{"x"}]>, ...]: each a Sharding
std::vector<Attribute> ParseShardings(TextCursor& in);
// {"x", "y"}: each a string
std::vector<Attribute> ParseManualAxes(TextCursor& in);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TEXT_SDY_H_
