#ifndef BACKEND_HOST_TRANSFERS_H_
#define BACKEND_HOST_TRANSFERS_H_

// HostTransfers: the framework's end of the send and recv operations of a program that are host
// transfers, on one device, for one execution. The plugin layer makes it; a backend whose compiler
// takes such operations calls it while the program runs. Arrays travel dense and row-major.
//
//   Status sent = launch.host->Send(channel, bytes_on_the_host, size);
//   Completion received = launch.host->Receive(channel, size, [=](const void* piece, size_t offset,
//                                                                 size_t bytes) {
//     return stream.CopyFromHost(piece, {block, offset, bytes}, {});
//   });
//
// Threads: any member from any thread, though not under a lock: both run the framework's code,
// which may take long. No call is made once the execution's `done` is ready, and `done` is not
// ready before every Receive is.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "backend/completion.h"
#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

class HostTransfers {
 public:
  virtual ~HostTransfers() = default;

  // Gives the framework a copy of `bytes` bytes at `data`, which is host memory. NOT_FOUND when
  // nobody takes what is sent on that channel; else the framework's failure.
  virtual Status Send(int64_t channel, const void* data, size_t bytes) = 0;

  // Copies a piece of an array to its place: `bytes` bytes at `data`, which stay until the
  // completion is ready.
  using Write = std::function<Completion(const void* data, size_t offset, size_t bytes)>;

  // Asks the framework for an array of `bytes` bytes. It comes in pieces, now or later, on any
  // threads, and `write` is called for each, one at a time. Ready when all of it is written. Fails
  // as Send does, and when the framework gives up before it has sent everything; `write` is then
  // not called any more.
  virtual Completion Receive(int64_t channel, size_t bytes, Write write) = 0;
};

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_HOST_TRANSFERS_H_
