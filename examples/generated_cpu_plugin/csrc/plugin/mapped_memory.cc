#include "plugin/mapped_memory.h"

#include <string>

#include "generated/features.h"
#include "plugin/client.h"
#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::plugin {

Status MappedMemory::Map(backend::Driver& driver, void* data, size_t size, const char* function) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  if (data == nullptr || size == 0 || size > UINTPTR_MAX - begin) {
    return InvalidArgument(std::string(function) + ": data is " + std::to_string(begin) +
                           " and size " + std::to_string(size) +
                           "; give the address of at least one byte");
  }
  std::lock_guard lock(mutex_);
  const auto next = sizes_.lower_bound(begin);
  const bool overlaps_next = next != sizes_.end() && next->first - begin < size;
  const bool overlaps_previous =
      next != sizes_.begin() && begin - std::prev(next)->first < std::prev(next)->second;
  if (overlaps_next || overlaps_previous) {
    return InvalidArgument(std::string(function) + ": the " + std::to_string(size) +
                           " bytes overlap with memory that is mapped; unmap that first");
  }
  PJRT_PLUGIN_RETURN_IF_ERROR(driver.MapHostMemory(data, size));
  sizes_.emplace_hint(next, begin, size);
  return Status();
}

Status MappedMemory::Unmap(backend::Driver& driver, void* data, const char* function) {
  std::lock_guard lock(mutex_);
  const auto mapped = sizes_.find(reinterpret_cast<uintptr_t>(data));
  if (mapped == sizes_.end()) {
    return InvalidArgument(std::string(function) +
                           ": no mapped memory begins at data; give the address that was mapped");
  }
  PJRT_PLUGIN_RETURN_IF_ERROR(driver.UnmapHostMemory(data));
  sizes_.erase(mapped);
  return Status();
}

void MappedMemory::UnmapAll(backend::Driver& driver) {
  std::lock_guard lock(mutex_);
  for (const auto& [address, size] : sizes_) {
    (void)driver.UnmapHostMemory(reinterpret_cast<void*>(address));  // nobody is left to be told
  }
  sizes_.clear();
}

#if PJRT_SCAFFOLD_HAS_PJRT_Client_DmaMap
PJRT_Error* Layer::Client_DmaMap(PJRT_Client_DmaMap_Args* args) {
  constexpr char kFunction[] = "PJRT_Client_DmaMap";
  Client* client = FromC(args->client);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(client->CheckProcess(kFunction));
  return MakeError(client->mapped_memory.Map(*client->driver, args->data, args->size, kFunction));
}

PJRT_Error* Layer::Client_DmaUnmap(PJRT_Client_DmaUnmap_Args* args) {
  constexpr char kFunction[] = "PJRT_Client_DmaUnmap";
  Client* client = FromC(args->client);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(client->CheckProcess(kFunction));
  return MakeError(client->mapped_memory.Unmap(*client->driver, args->data, kFunction));
}
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
