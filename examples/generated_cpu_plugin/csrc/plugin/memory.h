#ifndef PLUGIN_MEMORY_H_
#define PLUGIN_MEMORY_H_

// Memory: one memory space of a client. Lives as long as the client.

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/memory.h"
#include "generated/config.h"
#include "generated/features.h"
#include "generated/pjrt_c_api.h"
#include "generated/pjrt_extensions.h"
#include "plugin/error.h"
#include "plugin/handle.h"

namespace PJRT_PLUGIN_NS::plugin {

struct Client;
struct Device;

struct Memory : Handle<Tag::kMemory> {
  Memory(Client* client, backend::Memory* impl);
  ~Memory();

  // A block of `bytes` bytes. While the memory is full, waits for work of the client that may let
  // go of some, so this is not called under a lock. Failures are those of
  // backend::Memory::Allocate.
  Result<std::shared_ptr<backend::Allocation>> Allocate(size_t bytes) const;

  // What frameworks attach to a memory under a key of theirs; `destroy` may be null, and runs when
  // the value is replaced or the memory goes.
  void* GetUserData(const void* key);
  void SetUserData(const void* key, void* data, void (*destroy)(void*));

  Client* const client;
  backend::Memory* const impl;
  const bool host_accessible;
  std::vector<Device*>
      devices;  // never empty; the first is where a buffer of this memory is said to be

 private:
  struct UserData {
    const void* key;
    void* data;
    void (*destroy)(void*);
  };
  std::mutex mutex_;
  std::vector<UserData> user_data_;
};
PJRT_PLUGIN_HANDLE(PJRT_Memory, Memory)

// A number that is the same for all memories of one kind, in every process.
int KindId(std::string_view kind);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_MEMORY_H_
