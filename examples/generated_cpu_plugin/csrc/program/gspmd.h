#ifndef PROGRAM_GSPMD_H_
#define PROGRAM_GSPMD_H_

// Shardings as HLO writes them, for GSPMD, the partitioner before Shardy: frameworks up to 2025 put
// them into the attribute mhlo.sharding, and later ones read them in the text of a compiled
// program.
//
//   {replicated}
//   {devices=[2,1,2]<=[4] last_tile_dim_replicate}   rows in two parts, each on two devices
//   {devices=[1,4]0,2,1,3}                           columns in four parts
//   {manual}                                         the value is one device's own

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/status.h"
#include "generated/config.h"
#include "program/sharding.h"

namespace PJRT_PLUGIN_NS::program {

// The sharding of a tensor of `rank` dimensions in Shardy's form, with a mesh of its own that has
// an axis for each dimension that is split. What is said to be manual or unknown is not split.
// INVALID_ARGUMENT quotes text that is none of the above.
backend::Result<Sharding> ParseGspmdSharding(std::string_view text, size_t rank);

// `tiles` parts along each dimension; `devices` by part, the parts row-major, all holders of a part
// in a row. No tiles or one part: replicated.
std::string GspmdText(const std::vector<int64_t>& tiles, const std::vector<int64_t>& devices);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_GSPMD_H_
