#ifndef REFERENCE_ASSIGN_BUFFERS_H_
#define REFERENCE_ASSIGN_BUFFERS_H_

// Gives every buffer of a plan its memory: results take over operands that die where they are made
// (Plan::in_place), donated arguments become the memory of their outputs, and the remaining temps
// share one arena, in which two that are alive at the same step never overlap.

#include "generated/config.h"
#include "reference/plan.h"

namespace PJRT_PLUGIN_NS::reference {

void AssignBuffers(Plan& plan);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_ASSIGN_BUFFERS_H_
