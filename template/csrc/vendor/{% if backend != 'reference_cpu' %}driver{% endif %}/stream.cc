#include "vendor/driver/stream.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

namespace PJRT_PLUGIN_NS::vendor {
namespace {

using backend::Completion;
using backend::Region;
using backend::Status;

std::byte* AddressOf(const Region& region) {
  return static_cast<std::byte*>(region.block->address()) + region.offset;
}

// Runs `copy` once all of `after` are ready: now, or on the thread that makes the last one ready.
template <typename Copy>
Completion RunAfter(std::span<const Completion> after, Copy copy) {
  const Completion all = backend::WhenAll(after);
  if (all.IsReady()) {
    if (Status status = all.status(); !status.ok()) return Completion(std::move(status));
    copy();
    return Completion();
  }
  auto [done, promise] = backend::MakeCompletion();
  all.OnReady([copy = std::move(copy), promise = std::make_shared<backend::Promise>(
                                           std::move(promise))](const Status& status) {
    if (status.ok()) copy();
    promise->Set(status);
  });
  return done;
}

}  // namespace

Completion Stream::CopyFromHost(const void* host, Region to, std::span<const Completion> after) {
  return RunAfter(after, [host, to] { std::memcpy(AddressOf(to), host, to.bytes); });
}

Completion Stream::CopyToHost(Region from, void* host, std::span<const Completion> after) {
  return RunAfter(after, [from, host] { std::memcpy(host, AddressOf(from), from.bytes); });
}

Completion Stream::Copy(Region from, Region to, std::span<const Completion> after) {
  return RunAfter(after, [from, to] { std::memcpy(AddressOf(to), AddressOf(from), to.bytes); });
}

}  // namespace PJRT_PLUGIN_NS::vendor
