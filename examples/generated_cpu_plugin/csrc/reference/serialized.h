#ifndef REFERENCE_SERIALIZED_H_
#define REFERENCE_SERIALIZED_H_

// The bytes of an executable: the program and what of the options decides about it, behind a header
// that names the build. Compilation takes milliseconds, so the program is compiled anew from them.

#include <string>
#include <string_view>

#include "backend/status.h"
#include "generated/config.h"
#include "reference/split.h"

namespace PJRT_PLUGIN_NS::reference {

struct SerializedProgram {
  Partitioning partitioning;
  std::string code;
};

// Names the build: programs of another one are refused.
std::string_view BuildId();

std::string Serialize(const Partitioning& partitioning, std::string_view code);
// FAILED_PRECONDITION for the bytes of another build, INVALID_ARGUMENT for anything else that is
// none.
backend::Result<SerializedProgram> Deserialize(std::string_view bytes);

// A number for the bytes: equal only for the same program, options and build.
std::string FingerprintOf(std::string_view serialized);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_SERIALIZED_H_
