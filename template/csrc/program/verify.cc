#include "program/verify.h"
namespace PJRT_PLUGIN_NS::program {
backend::Status Verify(const Module&) { return {}; }
}  // namespace PJRT_PLUGIN_NS::program
