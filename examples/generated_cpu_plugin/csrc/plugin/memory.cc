#include "plugin/memory.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "plugin/bytes.h"
#include "plugin/client.h"
#include "plugin/device.h"
#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

#if PJRT_SCAFFOLD_HAS_PJRT_Memory_FunctionTable
constexpr PJRT_Memory_FunctionTable MakeMemoryTable() {
  PJRT_Memory_FunctionTable table = {};
  table.struct_size = sizeof(PJRT_Memory_FunctionTable);
  table.instance_struct_size = sizeof(PJRT_Memory);
  table.get_user_data = [](PJRT_Memory* memory, const void* key) {
    return FromC(memory)->GetUserData(key);
  };
  table.set_user_data = [](PJRT_Memory* memory, const void* key, void* data,
                           void (*destroy)(void*)) {
    try {
      FromC(memory)->SetUserData(key, data, destroy);
    } catch (...) {  // no memory for it, or the framework's own `destroy` threw: nobody to tell
    }
  };
  return table;
}
constexpr PJRT_Memory_FunctionTable kMemoryTable = MakeMemoryTable();
const void* const kMemoryVtable = &kMemoryTable;
#else
const void* const kMemoryVtable = nullptr;
#endif

}  // namespace

Memory::Memory(Client* client, backend::Memory* impl)
    : Handle(kMemoryVtable),
      client(client),
      impl(impl),
      host_accessible(impl->info().host_accessible) {}

Memory::~Memory() {
  for (const UserData& entry : user_data_) {
    if (entry.destroy == nullptr) continue;
    try {
      entry.destroy(entry.data);
    } catch (...) {  // the framework's code; the memory goes all the same
    }
  }
}

Result<std::shared_ptr<backend::Allocation>> Memory::Allocate(size_t bytes) const {
  return client->work.Retry([&] { return impl->Allocate(bytes); });
}

void* Memory::GetUserData(const void* key) {
  std::lock_guard lock(mutex_);
  for (const UserData& entry : user_data_) {
    if (entry.key == key) return entry.data;
  }
  return nullptr;
}

void Memory::SetUserData(const void* key, void* data, void (*destroy)(void*)) {
  UserData old = {key, nullptr, nullptr};
  {
    std::lock_guard lock(mutex_);
    auto entry = std::find_if(user_data_.begin(), user_data_.end(),
                              [key](const UserData& e) { return e.key == key; });
    if (entry == user_data_.end()) entry = user_data_.insert(entry, old);
    old = std::exchange(*entry, UserData{key, data, destroy});
  }
  if (old.destroy != nullptr) old.destroy(old.data);  // the framework's code runs without our lock
}

int KindId(std::string_view kind) { return int(Fnv1a(kind) & 0x7fffffffu); }

PJRT_Error* Layer::Memory_Id(PJRT_Memory_Id_Args* args) {
  args->id = FromC(args->memory)->impl->info().id;
  return nullptr;
}

PJRT_Error* Layer::Memory_Kind(PJRT_Memory_Kind_Args* args) {
  const backend::MemoryInfo& info = FromC(args->memory)->impl->info();
  args->kind = info.kind.data();
  args->kind_size = info.kind.size();
  return nullptr;
}

PJRT_Error* Layer::Memory_Kind_Id(PJRT_Memory_Kind_Id_Args* args) {
  args->kind_id = KindId(FromC(args->memory)->impl->info().kind);
  return nullptr;
}

PJRT_Error* Layer::Memory_DebugString(PJRT_Memory_DebugString_Args* args) {
  const backend::MemoryInfo& info = FromC(args->memory)->impl->info();
  args->debug_string = info.debug_string.data();
  args->debug_string_size = info.debug_string.size();
  return nullptr;
}

PJRT_Error* Layer::Memory_ToString(PJRT_Memory_ToString_Args* args) {
  const backend::MemoryInfo& info = FromC(args->memory)->impl->info();
  args->to_string = info.debug_string.data();
  args->to_string_size = info.debug_string.size();
  return nullptr;
}

PJRT_Error* Layer::Memory_AddressableByDevices(PJRT_Memory_AddressableByDevices_Args* args) {
  const std::vector<Device*>& devices = FromC(args->memory)->devices;
  args->devices = reinterpret_cast<PJRT_Device* const*>(devices.data());
  args->num_devices = devices.size();
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::plugin
