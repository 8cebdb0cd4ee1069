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

CopyToDeviceStream::~CopyToDeviceStream() {
  const size_t sent = target_->current_bytes();
  if (sent == target_->total_bytes()) return;
  try {
    target_->Close(Status(Code::kCancelled, "the framework sent " + std::to_string(sent) +
                                                " of the " +
                                                std::to_string(target_->total_bytes()) +
                                                " bytes that the program waits for"));
  } catch (...) {  // without memory for that, the dropped promise fails the program
  }
}

CopyToDeviceStream::Target::Target(size_t total_bytes, backend::HostTransfers::Write write,
                                   backend::Promise promise)
    : total_bytes_(total_bytes),
      promise_(std::make_shared<const backend::Promise>(std::move(promise))),
      write_(std::move(write)) {}

size_t CopyToDeviceStream::Target::current_bytes() const {
  std::lock_guard lock(mutex_);
  return current_bytes_;
}

Completion CopyToDeviceStream::Target::Add(const PJRT_Chunk& chunk) {
  constexpr char kFunction[] = "PJRT_CopyToDeviceStream_AddChunk";
  const std::shared_ptr<void> data = OwnChunk(chunk);
  if (Status status = CheckPointer(chunk.data, chunk.size, "data of the chunk", kFunction);
      !status.ok()) {
    return Completion(std::move(status));
  }
  Completion written;
  backend::HostTransfers::Write write;  // what it holds goes after the lock
  std::vector<Completion> pieces;
  {
    std::lock_guard lock(mutex_);
    const size_t left = total_bytes_ - current_bytes_;
    if (left == 0 && total_bytes_ != 0) {
      return Completion(FailedPrecondition(std::string(kFunction) + ": all " +
                                           std::to_string(total_bytes_) + " bytes are sent"));
    }
    if (write_ == nullptr) {
      return Completion(FailedPrecondition(std::string(kFunction) +
                                           ": the program does not wait for this array any more"));
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
    if (current_bytes_ != total_bytes_) return written;
    // The framework may keep the stream for longer than the program's memory is there.
    write = std::exchange(write_, nullptr);
    pieces = std::exchange(pieces_, {});
  }
  write = nullptr;
  SetWhenWritten(std::move(pieces), Status());
  return written;
}

void CopyToDeviceStream::Target::Close(Status status) {
  backend::HostTransfers::Write write;  // what it holds goes after the lock
  std::vector<Completion> pieces;
  {
    std::lock_guard lock(mutex_);
    write = std::exchange(write_, nullptr);
    if (write == nullptr || current_bytes_ == total_bytes_) return;
    pieces = std::exchange(pieces_, {});
  }
  SetWhenWritten(std::move(pieces), std::move(status));
}

void CopyToDeviceStream::Target::SetWhenWritten(std::vector<Completion> pieces,
                                                Status status) const {
  // The target may be gone before the last piece is written.
  backend::WhenAll(pieces).OnReady(
      [promise = promise_, status = std::move(status)](const Status& written) {
        promise->Set(status.ok() ? written : status);
      });
}

PJRT_Error* Layer::CopyToDeviceStream_Destroy(PJRT_CopyToDeviceStream_Destroy_Args* args) {
  delete FromC(args->stream);
  return nullptr;
}

PJRT_Error* Layer::CopyToDeviceStream_AddChunk(PJRT_CopyToDeviceStream_AddChunk_Args* args) {
  args->transfer_complete = NewEvent(FromC(args->stream)->target().Add(*args->chunk));
  return nullptr;
}

PJRT_Error* Layer::CopyToDeviceStream_TotalBytes(PJRT_CopyToDeviceStream_TotalBytes_Args* args) {
  args->total_bytes = int64_t(FromC(args->stream)->target().total_bytes());
  return nullptr;
}

PJRT_Error* Layer::CopyToDeviceStream_GranuleSize(PJRT_CopyToDeviceStream_GranuleSize_Args* args) {
  args->granule_size_in_bytes = 1;
  return nullptr;
}

PJRT_Error* Layer::CopyToDeviceStream_CurrentBytes(
    PJRT_CopyToDeviceStream_CurrentBytes_Args* args) {
  args->current_bytes = int64_t(FromC(args->stream)->target().current_bytes());
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::plugin
