#include "plugin/host_callbacks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "plugin/copy_to_device_stream.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// The callback for a channel; null when there is none.
template <typename Info>
const Info* FindChannel(const std::vector<Info>& infos, int64_t channel) {
  const auto at =
      std::ranges::find_if(infos, [&](const Info& info) { return info.channel_id == channel; });
  return at == infos.end() ? nullptr : &*at;
}

Status NoCallback(const char* what, int64_t channel, const char* list) {
  return NotFound(std::string("the program ") + what + " the host on channel " +
                  std::to_string(channel) + ", but the execution has no callback for it in " +
                  list);
}

// A copy that the framework frees when it has seen it.
PJRT_Chunk CopyChunk(const void* data, size_t bytes) {
  PJRT_Chunk chunk = {};
  auto* const copy = new std::byte[bytes];
  if (bytes != 0) std::memcpy(copy, data, bytes);
  chunk.data = copy;
  chunk.size = bytes;
  chunk.deleter = [](void* given, void*) { delete[] static_cast<std::byte*>(given); };
  return chunk;
}

}  // namespace

HostCallbacks::HostCallbacks(const PJRT_ExecuteOptions& options, size_t device) {
  if (options.num_send_ops != 0) {
    const PJRT_SendCallbackInfo* const sends = options.send_callbacks[device];
    sends_.assign(sends, sends + options.num_send_ops);
  }
  if (options.num_recv_ops != 0) {
    const PJRT_RecvCallbackInfo* const receives = options.recv_callbacks[device];
    receives_.assign(receives, receives + options.num_recv_ops);
  }
}

Status HostCallbacks::Send(int64_t channel, const void* data, size_t bytes) {
  const PJRT_SendCallbackInfo* const info = FindChannel(sends_, channel);
  if (info == nullptr || info->send_callback == nullptr) {
    return NoCallback("sends to", channel, "send_callbacks");
  }
  PJRT_CallbackError callback_error = CallbackError;
  PJRT_Chunk chunk = CopyChunk(data, bytes);
  const backend::CallbackScope scope;
  try {
    return TakeError(
        info->send_callback(&chunk, &callback_error, bytes, /*done=*/true, info->user_arg));
  } catch (...) {  // the chunk is the framework's by now
    return Internal("the send callback of channel " + std::to_string(channel) +
                    " threw an exception");
  }
}

backend::Completion HostCallbacks::Receive(int64_t channel, size_t bytes, Write write) {
  const PJRT_RecvCallbackInfo* const info = FindChannel(receives_, channel);
  if (info == nullptr || info->recv_callback == nullptr) {
    return Completion(NoCallback("receives from", channel, "recv_callbacks"));
  }
  auto [received, promise] = backend::MakeCompletion();
  const auto target =
      std::make_shared<CopyToDeviceStream::Target>(bytes, std::move(write), std::move(promise));
  auto stream = std::make_unique<CopyToDeviceStream>(target);
  const backend::CallbackScope scope;
  try {
    info->recv_callback(ToC(stream.release()), info->user_arg);
  } catch (...) {
    // The stream is the framework's by now, which may go on to use it: the program's memory must be
    // out of its reach before the program hears of the failure.
    const Completion failure(Internal("the receive callback of channel " + std::to_string(channel) +
                                      " threw an exception"));
    target->Close(failure.status());
    return bytes == 0 ? failure : backend::WhenAll(std::array{received, failure});
  }
  return bytes == 0 ? Completion() : received;
}

}  // namespace PJRT_PLUGIN_NS::plugin
