#ifndef PLUGIN_AWAIT_ON_FAILURE_H_
#define PLUGIN_AWAIT_ON_FAILURE_H_

// AwaitOnFailure: for a copy from or to memory of the host. When the function that started it ends
// by an exception, its caller hears of a failure and has the memory back, and what the function
// keeps of its own goes: so the copy must be over by then.
//
//   const Completion copied = stream.CopyFromHost(host, to, {});
//   const AwaitOnFailure await(copied);   // below what owns the memory
//   ... what may throw ...

#include <exception>
#include <utility>

#include "backend/completion.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::plugin {

class AwaitOnFailure {
 public:
  explicit AwaitOnFailure(backend::Completion copy)
      : copy_(std::move(copy)), exceptions_(std::uncaught_exceptions()) {}
  ~AwaitOnFailure() {
    if (std::uncaught_exceptions() > exceptions_) (void)copy_.Await();
  }
  AwaitOnFailure(const AwaitOnFailure&) = delete;
  AwaitOnFailure& operator=(const AwaitOnFailure&) = delete;

 private:
  const backend::Completion copy_;
  const int exceptions_;
};

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_AWAIT_ON_FAILURE_H_
