// The Layouts extension. JAX asks for layouts at every compile; without it, it looks for them in
// the optimized program.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/layout.h"
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

std::string TextOf(const std::vector<int64_t>& minor_to_major) {
  std::string text = "{";
  for (size_t i = 0; i < minor_to_major.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(minor_to_major[i]);
  }
  return text + "}";
}

}  // namespace

Layout::Layout(std::vector<int64_t> minor_to_major)
    : minor_to_major(std::move(minor_to_major)), text(TextOf(this->minor_to_major)) {}

Layout* RowMajorLayout(size_t rank) {
  using Table = std::array<std::unique_ptr<Layout>, kMaxRank + 1>;
  static const Table* const layouts = [] {
    auto table = std::make_unique<Table>();
    for (size_t i = 0; i < table->size(); ++i) {
      (*table)[i] = std::make_unique<Layout>(backend::RowMajorLayout(i));
    }
    return table.release();
  }();
  return rank <= kMaxRank ? (*layouts)[rank].get() : nullptr;
}

Layout* LayoutOf(const backend::Shape& shape) {
  if (shape.minor_to_major.empty()) return RowMajorLayout(shape.dims.size());
  if (shape.dims.size() > kMaxRank) return nullptr;
  // Never freed, as few as programs have layouts: frameworks keep them beyond buffer and client.
  static std::mutex* const mutex = new std::mutex;
  static auto* const layouts = new std::map<std::vector<int64_t>, std::unique_ptr<Layout>>;
  std::lock_guard lock(*mutex);
  std::unique_ptr<Layout>& layout = (*layouts)[shape.minor_to_major];
  if (layout == nullptr) layout = std::make_unique<Layout>(shape.minor_to_major);
  return layout.get();
}

#if PJRT_SCAFFOLD_HAS_PJRT_Layouts_Extension
namespace {

PJRT_Error* GiveLayout(Layout* found, size_t rank, const char* function,
                       PJRT_Layouts_MemoryLayout** layout) {
  *layout = ToC(found);
  if (found != nullptr) return nullptr;
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
  const backend::Shape& shape = FromC(args->buffer)->shape;
  return GiveLayout(LayoutOf(shape), shape.dims.size(), "PJRT_Layouts_PJRT_Buffer_MemoryLayout",
                    &args->layout);
}

PJRT_Error* OfClient(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args* args) {
  return GiveLayout(RowMajorLayout(args->num_dims), args->num_dims,
                    "PJRT_Layouts_PJRT_Client_GetDefaultLayout", &args->layout);
}

#if PJRT_SCAFFOLD_HAS_PJRT_Layouts_Extension_PJRT_Layouts_PJRT_Topology_GetDefaultLayout
PJRT_Error* OfTopology(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args* args) {
  return GiveLayout(RowMajorLayout(args->num_dims), args->num_dims,
                    "PJRT_Layouts_PJRT_Topology_GetDefaultLayout", &args->layout);
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
