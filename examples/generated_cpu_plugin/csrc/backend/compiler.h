#ifndef BACKEND_COMPILER_H_
#define BACKEND_COMPILER_H_

// Compiler: turns a program into an Executable.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/attribute.h"
#include "backend/executable.h"
#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

// Layouts: frameworks ask for them in the program, by mhlo.layout_mode at the arguments and results
// of main. The compiler says in ExecutableInfo what it chose, and frameworks check that; where it
// leaves the layout of a shape empty, arrays are row-major there. program::LayoutPass turns what
// was asked for into a program on row-major arrays, for a compiler that knows of no others.
struct Program {
  std::string_view
      format;  // "mlir": a StableHLO portable artifact or MLIR text; other formats are the vendor's
  std::string_view code;
};

// What frameworks say about a compilation, read by the plugin layer from the serialized
// CompileOptionsProto.
struct CompileOptions {
  int num_replicas = 1;
  int num_partitions = 1;
  bool use_spmd_partitioning = true;
  bool use_shardy_partitioner = false;
  // Device ids, [replica][partition]; empty: the plugin layer chooses.
  std::vector<std::vector<int>> device_assignment;
  bool portable = false;             // to be run on whatever one device the caller names
  bool tupled_arguments = false;     // one tuple parameter instead of many
  std::vector<Attribute> overrides;  // jit's compiler_options
  std::string serialized;            // the message itself, for what is not listed here
};

using Version = std::array<int64_t, 3>;

// The StableHLO versions that a compiler reads. Frameworks serialize programs for the newest, so a
// constant one serves many framework releases.
struct StablehloRange {
  Version oldest;
  Version newest;
};

// Any member may be called from any thread, and compilations may run in parallel.
class Compiler {
 public:
  virtual ~Compiler() = default;

  // UNIMPLEMENTED names the op, its types and its source location; INVALID_ARGUMENT is for a
  // program that is no valid program of that format. A wrong program never crashes.
  virtual Result<std::shared_ptr<Executable>> Compile(const Program& program,
                                                      const CompileOptions& options) = 0;

  // ---- Optional abilities ----

  // The inverse of Executable::Serialize. FAILED_PRECONDITION for bytes of another compiler build.
  virtual Result<std::shared_ptr<Executable>> Deserialize(std::string_view bytes) {
    (void)bytes;
    return Unimplemented("this backend cannot deserialize executables");
  }
};

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_COMPILER_H_
