#ifndef PLUGIN_RAW_BUFFER_H_
#define PLUGIN_RAW_BUFFER_H_

// RawBuffer: the bytes behind a buffer, or a part of them, for frameworks that move bytes
// themselves. It keeps the memory where it is, whatever becomes of the buffer. It is no array and
// nobody's reading: that nobody else writes what it reads, or reads what it writes, is the caller's
// business.
//
// Reading waits for the contents of the buffer. Writing does not: a buffer may be waiting for just
// these bytes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend/completion.h"
#include "backend/stream.h"
#include "generated/config.h"
#include "generated/features.h"
#include "generated/pjrt_extensions.h"
#include "plugin/buffer.h"

#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_Extension

namespace PJRT_PLUGIN_NS::plugin {

// Counted: from 1, which is the caller's of PJRT_RawBuffer_CreateRawAliasOfBuffer.
struct RawBuffer : Handle<Tag::kRawBuffer> {
  static Result<RawBuffer*> AliasOf(Buffer& buffer, const char* function);
  RawBuffer(std::shared_ptr<Client> client, Device* device, Memory* memory, Completion ready,
            bool waits_for_caller, backend::Region region);

  void AddReference() { references.fetch_add(1); }
  // Null is dropped by doing nothing, as it is deleted. `raw` is a parameter, and not `this`,
  // because FromC() hands null on: with sanitizers GCC says of that path that it writes to nothing.
  static void DropReference(RawBuffer* raw) {
    if (raw != nullptr && raw->references.fetch_sub(1) == 1) delete raw;
  }

  // INVALID_ARGUMENT for a part that is not inside. `offset` and `size` are bytes.
  Result<RawBuffer*> Slice(int64_t offset, int64_t size, const char* function);
  Result<Completion> CopyFromHost(const void* src, int64_t offset, int64_t size,
                                  std::span<const Completion> after, const char* function);
  Result<Completion> CopyToHost(void* dst, int64_t offset, int64_t size,
                                std::span<const Completion> after, const char* function);
  // All of it, to one of the same size on a device of the same client.
  Result<Completion> CopyTo(const RawBuffer& to, std::span<const Completion> after,
                            const char* function);

  std::byte* address() const {
    return static_cast<std::byte*>(region.block->address()) + region.offset;
  }
  // Null where host code may not go.
  void* HostPointer() const { return memory->host_accessible ? address() : nullptr; }

  const std::shared_ptr<Client> client;
  Device* const device;
  Memory* const memory;
  const Completion ready;       // of the buffer
  const bool waits_for_caller;  // so does `ready`, as in the buffer
  const backend::Region region;
  std::atomic<int> references{1};

 private:
  bool IsWaitingForCaller() const { return waits_for_caller && !ready.IsReady(); }
  Result<backend::Region> Part(int64_t offset, int64_t size, const char* function) const;
};
PJRT_PLUGIN_HANDLE(PJRT_RawBuffer, RawBuffer)

// What newer frameworks call through; null at API versions without it (raw_buffer_table.cc).
const void* RawBufferFunctions();

}  // namespace PJRT_PLUGIN_NS::plugin

#endif

#endif  // PLUGIN_RAW_BUFFER_H_
