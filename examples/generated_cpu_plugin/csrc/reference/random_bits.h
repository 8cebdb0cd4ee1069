#ifndef REFERENCE_RANDOM_BITS_H_
#define REFERENCE_RANDOM_BITS_H_

// The counter-based random number generators of Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3" (2011): a block of random words is a function of a key and the number of the block.

#include <array>
#include <cstdint>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::reference {

// Threefry-2x32 with 20 rounds. Words here and below: the low one first.
std::array<uint32_t, 2> ThreeFry2x32(uint64_t key, uint64_t counter);

// Philox-4x32 with 10 rounds.
std::array<uint32_t, 4> Philox4x32(uint64_t key, uint64_t counter_low, uint64_t counter_high);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_RANDOM_BITS_H_
