#include "plugin/copy_to_device_stream.h"

#include <memory>
#include <string>
#include <utility>

#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// The caller's memory, freed in its way.
std::shared_ptr<void> OwnChunk(const PJRT_Chunk& chunk) {
  return std::shared_ptr<void>(chunk.data,
                               [deleter = chunk.deleter, arg = chunk.deleter_arg](void* data) {
                                 if (deleter == nullptr) return;
                                 try {
                                   deleter(data, arg);
                                 } catch (...) {  // whoever lets go of the memory last cannot help
                                 }
                               });
}

}  // namespace

CopyToDeviceStream::CopyToDeviceStream(size_t total_bytes, backend::HostTransfers::Write write,
                                       backend::Promise promise)
    : total_bytes_(total_bytes),
      write_(std::move(write)),
      promise_(std::make_shared<const backend::Promise>(std::move(promise))) {}

CopyToDeviceStream::~CopyToDeviceStream() {
  if (current_bytes_ == total_bytes_) return;
  try {
    promise_->Set(Status(Code::kCancelled, "the framework sent " + std::to_string(current_bytes_) +
                                               " of the " + std::to_string(total_bytes_) +
                                               " bytes that the program waits for"));
  } catch (...) {  // without memory for that, the dropped promise fails the program
  }
}

size_t CopyToDeviceStream::current_bytes() const {
  std::lock_guard lock(mutex_);
  return current_bytes_;
}

Completion CopyToDeviceStream::Add(const PJRT_Chunk& chunk) {
  constexpr char kFunction[] = "PJRT_CopyToDeviceStream_AddChunk";
  const std::shared_ptr<void> data = OwnChunk(chunk);
  if (Status status = CheckPointer(chunk.data, chunk.size, "data of the chunk", kFunction);
      !status.ok()) {
    return Completion(std::move(status));
  }
  Completion written;
  Completion all;
  bool is_last = false;
  {
    std::lock_guard lock(mutex_);
    const size_t left = total_bytes_ - current_bytes_;
    if (left == 0 && total_bytes_ != 0) {
      return Completion(FailedPrecondition(std::string(kFunction) + ": all " +
                                           std::to_string(total_bytes_) + " bytes are sent"));
    }
    if (chunk.size > left) {
      return Completion(InvalidArgument(std::string(kFunction) + ": the chunk has " +
                                        std::to_string(chunk.size) + " bytes, but only " +
                                        std::to_string(left) + " of " +
                                        std::to_string(total_bytes_) + " are left to send"));
    }
    if (chunk.size != 0) written = write_(data.get(), current_bytes_, chunk.size);
    current_bytes_ += chunk.size;
    if (!written.IsReady())
      written.OnReady([data](const Status&) {});  // the memory stays till then
    if (!written.IsReady() || !written.status().ok()) pieces_.push_back(written);
    is_last = current_bytes_ == total_bytes_;
    if (is_last) all = backend::WhenAll(std::exchange(pieces_, {}));
  }
  if (!is_last) return written;
  // The stream may be gone before the last piece is written.
  all.OnReady([promise = promise_](const Status& status) { promise->Set(status); });
  return written;
}

PJRT_Error* Layer::CopyToDeviceStream_Destroy(PJRT_CopyToDeviceStream_Destroy_Args* args) {
  delete FromC(args->stream);
  return nullptr;
}

PJRT_Error* Layer::CopyToDeviceStream_AddChunk(PJRT_CopyToDeviceStream_AddChunk_Args* args) {
  args->transfer_complete = NewEvent(FromC(args->stream)->Add(*args->chunk));
  return nullptr;
}

PJRT_Error* Layer::CopyToDeviceStream_TotalBytes(PJRT_CopyToDeviceStream_TotalBytes_Args* args) {
  args->total_bytes = int64_t(FromC(args->stream)->total_bytes());
  return nullptr;
}

PJRT_Error* Layer::CopyToDeviceStream_GranuleSize(PJRT_CopyToDeviceStream_GranuleSize_Args* args) {
  args->granule_size_in_bytes = 1;
  return nullptr;
}

PJRT_Error* Layer::CopyToDeviceStream_CurrentBytes(
    PJRT_CopyToDeviceStream_CurrentBytes_Args* args) {
  args->current_bytes = int64_t(FromC(args->stream)->current_bytes());
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::plugin
