#include "reference/stream.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::Completion;
using backend::Region;
using backend::Status;

std::byte* At(const Region& region) {
  return static_cast<std::byte*>(region.block->address()) + region.offset;
}

Status CheckInside(const Region& region, const char* what) {
  if (region.offset <= region.block->bytes() &&
      region.bytes <= region.block->bytes() - region.offset)
    return Status();
  return backend::InvalidArgument(std::string(what) + " a part of a block at offset " +
                                  std::to_string(region.offset) + " with " +
                                  std::to_string(region.bytes) + " bytes: the block has " +
                                  std::to_string(region.block->bytes()) + " bytes");
}

// `keep` holds the blocks until the copy is done.
Completion CopyAfter(std::span<const Completion> after, const void* from, void* to, size_t bytes,
                     Region keep_from, Region keep_to) {
  Completion ready = backend::WhenAll(after);
  if (ready.IsReady()) {
    if (!ready.status().ok()) return ready;
    if (bytes != 0) std::memmove(to, from, bytes);
    return Completion();
  }
  auto [done, promise] = backend::MakeCompletion();
  auto set = std::make_shared<backend::Promise>(std::move(promise));
  ready.OnReady([=, keep_from = std::move(keep_from),
                 keep_to = std::move(keep_to)](const Status& status) mutable {
    if (status.ok() && bytes != 0) std::memmove(to, from, bytes);
    keep_from.block = keep_to.block = nullptr;  // before anyone hears that the copy is over
    set->Set(status);
  });
  return done;
}

}  // namespace

Completion HostStream::CopyFromHost(const void* host, Region to,
                                    std::span<const Completion> after) {
  if (Status status = CheckInside(to, "copying from the host to"); !status.ok())
    return Completion(status);
  void* target = At(to);
  size_t bytes = to.bytes;
  return CopyAfter(after, host, target, bytes, {}, std::move(to));
}

Completion HostStream::CopyToHost(Region from, void* host, std::span<const Completion> after) {
  if (Status status = CheckInside(from, "copying to the host from"); !status.ok())
    return Completion(status);
  const void* source = At(from);
  size_t bytes = from.bytes;
  return CopyAfter(after, source, host, bytes, std::move(from), {});
}

Completion HostStream::Copy(Region from, Region to, std::span<const Completion> after) {
  if (Status status = CheckInside(from, "copying from"); !status.ok()) return Completion(status);
  if (Status status = CheckInside(to, "copying to"); !status.ok()) return Completion(status);
  if (from.bytes != to.bytes)
    return Completion(backend::InvalidArgument(
        "copying " + std::to_string(from.bytes) + " bytes to a part of a block of " +
        std::to_string(to.bytes) + " bytes: both sides must have one size"));
  const void* source = At(from);
  void* target = At(to);
  size_t bytes = to.bytes;
  return CopyAfter(after, source, target, bytes, std::move(from), std::move(to));
}

}  // namespace PJRT_PLUGIN_NS::reference
