#include "plugin/raw_buffer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plugin/await_on_failure.h"
#include "plugin/profiler.h"

#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_Extension

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// Events that a caller names may be its own to set: a copy after them may wait for the caller.
bool AnyPending(std::span<const Completion> events) {
  return std::ranges::any_of(events, [](const Completion& one) { return !one.IsReady(); });
}

}  // namespace

RawBuffer::RawBuffer(std::shared_ptr<Client> client, Device* device, Memory* memory,
                     Completion ready, bool waits_for_caller, backend::Region region)
    : Handle(RawBufferFunctions()),
      client(std::move(client)),
      device(device),
      memory(memory),
      ready(std::move(ready)),
      waits_for_caller(waits_for_caller),
      region(std::move(region)) {}

Result<RawBuffer*> RawBuffer::AliasOf(Buffer& buffer, const char* function) {
  PJRT_PLUGIN_RETURN_IF_ERROR(buffer.client->CheckProcess(function));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Buffer::Use use, buffer.Read(function));
  const size_t bytes = buffer.shape.byte_size();
  return new RawBuffer(buffer.client, buffer.device, buffer.memory, buffer.ready,
                       buffer.waits_for_caller, {use.TakeBlock(), 0, bytes});
}

Result<backend::Region> RawBuffer::Part(int64_t offset, int64_t size, const char* function) const {
  PJRT_PLUGIN_RETURN_IF_ERROR(client->CheckProcess(function));
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckPart(offset, size, region.bytes, function));
  return backend::Region{region.block, region.offset + size_t(offset), size_t(size)};
}

Result<RawBuffer*> RawBuffer::Slice(int64_t offset, int64_t size, const char* function) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::Region part, Part(offset, size, function));
  return new RawBuffer(client, device, memory, ready, waits_for_caller, std::move(part));
}

Result<Completion> RawBuffer::CopyFromHost(const void* src, int64_t offset, int64_t size,
                                           std::span<const Completion> after,
                                           const char* function) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::Region to, Part(offset, size, function));
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckPointer(src, to.bytes, "src", function));
  if (to.bytes == 0) return backend::WhenAll(after);
  const Recording recording(device->impl->info().id, Work::kHostToDevice, to.bytes, after);
  Completion done = device->impl->stream().CopyFromHost(src, std::move(to), after);
  const AwaitOnFailure await(done);
  recording.Until(done);
  client->work.Add(done, AnyPending(after));
  return done;
}

Result<Completion> RawBuffer::CopyToHost(void* dst, int64_t offset, int64_t size,
                                         std::span<const Completion> after, const char* function) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::Region from, Part(offset, size, function));
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckPointer(dst, from.bytes, "dst", function));
  std::vector<Completion> all(after.begin(), after.end());
  all.push_back(ready);
  if (from.bytes == 0) return backend::WhenAll(all);
  const Recording recording(device->impl->info().id, Work::kDeviceToHost, from.bytes, all);
  Completion done = device->impl->stream().CopyToHost(std::move(from), dst, all);
  const AwaitOnFailure await(done);
  recording.Until(done);
  client->work.Add(done, IsWaitingForCaller() || AnyPending(after));
  return done;
}

Result<Completion> RawBuffer::CopyTo(const RawBuffer& to, std::span<const Completion> after,
                                     const char* function) {
  PJRT_PLUGIN_RETURN_IF_ERROR(client->CheckProcess(function));
  if (to.client != client) {
    return InvalidArgument(std::string(function) +
                           ": the destination belongs to another client; copy through the host");
  }
  if (to.region.bytes != region.bytes) {
    return InvalidArgument(std::string(function) + ": the destination has " +
                           std::to_string(to.region.bytes) + " bytes, the source " +
                           std::to_string(region.bytes) + "; they must be of one size");
  }
  std::vector<Completion> all(after.begin(), after.end());
  all.push_back(ready);
  if (region.bytes == 0) return backend::WhenAll(all);
  const Recording recording(to.device->impl->info().id, Work::kDeviceToDevice, region.bytes, all);
  Completion done = device->impl->stream().Copy(region, to.region, all);
  recording.Until(done);
  client->work.Add(done, IsWaitingForCaller() || AnyPending(after));
  return done;
}

}  // namespace PJRT_PLUGIN_NS::plugin

#endif
