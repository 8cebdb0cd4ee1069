// The Layouts extension. JAX asks for layouts at every compile; without it, it looks for them in
// the optimized program.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "generated/features.h"
#include "generated/guard.h"
#include "generated/pjrt_extensions.h"
#include "plugin/buffer.h"
#include "plugin/bytes.h"
#include "plugin/error.h"
#include "plugin/executable.h"
#include "plugin/extensions.h"
#include "plugin/layout.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

std::string RowMajorText(size_t rank) {
  std::string text = "{";
  for (size_t i = rank; i-- > 0;) text += std::to_string(i) + (i == 0 ? "" : ",");
  return text + "}";
}

}  // namespace

Layout::Layout(size_t rank) : text(RowMajorText(rank)) {}

Layout* RowMajorLayout(size_t rank) {
  using Table = std::array<std::unique_ptr<Layout>, kMaxRank + 1>;
  static const Table* const layouts = [] {
    auto table = std::make_unique<Table>();
    for (size_t i = 0; i < table->size(); ++i) (*table)[i] = std::make_unique<Layout>(i);
    return table.release();
  }();
  return rank <= kMaxRank ? (*layouts)[rank].get() : nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_Layouts_Extension
namespace {

PJRT_Error* GiveLayout(size_t rank, const char* function, PJRT_Layouts_MemoryLayout** layout) {
  *layout = ToC(RowMajorLayout(rank));
  if (*layout != nullptr) return nullptr;
  return MakeError(Unimplemented(std::string(function) + ": the array has rank " +
                                 std::to_string(rank) + ", more than " + std::to_string(kMaxRank)));
}

PJRT_Error* Destroy(PJRT_Layouts_MemoryLayout_Destroy_Args*) { return nullptr; }

PJRT_Error* Serialize(PJRT_Layouts_MemoryLayout_Serialize_Args* args) {
  GiveBytes(FromC(args->layout)->text, &args->serialized_bytes, &args->serialized_bytes_size,
            &args->serialized_layout, &args->serialized_layout_deleter);
  return nullptr;
}

PJRT_Error* OfBuffer(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args* args) {
  return GiveLayout(FromC(args->buffer)->shape.dims.size(), "PJRT_Layouts_PJRT_Buffer_MemoryLayout",
                    &args->layout);
}

PJRT_Error* OfClient(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args* args) {
  return GiveLayout(args->num_dims, "PJRT_Layouts_PJRT_Client_GetDefaultLayout", &args->layout);
}

#if PJRT_SCAFFOLD_HAS_PJRT_Layouts_Extension_PJRT_Layouts_PJRT_Topology_GetDefaultLayout
PJRT_Error* OfTopology(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args* args) {
  return GiveLayout(args->num_dims, "PJRT_Layouts_PJRT_Topology_GetDefaultLayout", &args->layout);
}
#endif

// The lists belong to the program, like all that an executable answers. Old extensions have none.
[[maybe_unused]] PJRT_Layouts_MemoryLayout** List(const std::vector<Layout*>& layouts) {
  return reinterpret_cast<PJRT_Layouts_MemoryLayout**>(const_cast<Layout**>(layouts.data()));
}

#if PJRT_SCAFFOLD_HAS_PJRT_Layouts_Extension_PJRT_Layouts_PJRT_Executable_GetOutputLayouts
PJRT_Error* OfOutputs(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args* args) {
  const std::vector<Layout*>& layouts = FromC(args->executable)->program->output_layouts;
  args->num_outputs = layouts.size();
  args->layouts = List(layouts);
  return nullptr;
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Layouts_Extension_PJRT_Layouts_PJRT_Executable_GetParameterLayouts
PJRT_Error* OfParameters(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args* args) {
  const std::vector<Layout*>& layouts = FromC(args->executable)->program->parameter_layouts;
  args->num_parameters = layouts.size();
  args->layouts = List(layouts);
  return nullptr;
}
#endif

}  // namespace

PJRT_Extension_Base* LayoutsExtension(PJRT_Extension_Base* next) {
  using generated::Guard;
  static PJRT_Layouts_Extension extension = {};
  extension.PJRT_Layouts_MemoryLayout_Destroy = &Guard<&Destroy>::Call;
  extension.PJRT_Layouts_MemoryLayout_Serialize = &Guard<&Serialize>::Call;
  extension.PJRT_Layouts_PJRT_Client_GetDefaultLayout = &Guard<&OfClient>::Call;
  extension.PJRT_Layouts_PJRT_Buffer_MemoryLayout = &Guard<&OfBuffer>::Call;
#if PJRT_SCAFFOLD_HAS_PJRT_Layouts_Extension_PJRT_Layouts_PJRT_Topology_GetDefaultLayout
  extension.PJRT_Layouts_PJRT_Topology_GetDefaultLayout = &Guard<&OfTopology>::Call;
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Layouts_Extension_PJRT_Layouts_PJRT_Executable_GetOutputLayouts
  extension.PJRT_Layouts_PJRT_Executable_GetOutputLayouts = &Guard<&OfOutputs>::Call;
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Layouts_Extension_PJRT_Layouts_PJRT_Executable_GetParameterLayouts
  extension.PJRT_Layouts_PJRT_Executable_GetParameterLayouts = &Guard<&OfParameters>::Call;
#endif
  return LinkExtension(&extension, PJRT_Extension_Type_Layouts, next);
}
#else
PJRT_Extension_Base* LayoutsExtension(PJRT_Extension_Base* next) { return next; }
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
