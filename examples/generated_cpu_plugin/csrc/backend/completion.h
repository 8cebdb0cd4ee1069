#ifndef BACKEND_COMPLETION_H_
#define BACKEND_COMPLETION_H_

// Completion: the end of one asynchronous piece of work, pending until it is set once, to OK or to
// a failure. Copies share the state. The plugin layer wraps it as PJRT_Event.
//
//   auto [done, promise] = MakeCompletion();
//   worker.Enqueue([p = std::move(promise)] { p.Set(DoWork()); });
//   done.OnReady([](const Status& s) { ... });   // runs once, on the setting thread or, when
//   ready, right here
//
// Threads: every member may be called from any thread. Callbacks run outside of all locks. They
// must not throw: they may be a framework's, called on a thread that nobody watches, so what they
// throw is dropped.
//
// A copy costs one reference count; a completion that is ready and OK costs nothing at all, so work
// that is done before the call returns should return Completion().

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

class Promise;

class Completion {
 public:
  // Ready and OK. Costs no allocation.
  Completion() = default;
  // Ready, failed (or OK).
  explicit Completion(Status status);

  bool IsReady() const;
  // Blocks until ready, then gives the outcome.
  Status Await() const;
  // The outcome; only after IsReady().
  Status status() const;
  // Runs `callback` once with the outcome: now if ready, else on the thread that sets it. The
  // callback may drop the last reference to this completion.
  void OnReady(std::function<void(const Status&)> callback) const;

 private:
  friend class Promise;
  friend std::pair<Completion, Promise> MakeCompletion();
  struct State;
  explicit Completion(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;  // null: ready and OK
};

// The writing end. Dropping it unset fails the completion with INTERNAL, so no waiter hangs for
// ever.
class Promise {
 public:
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&& other) noexcept;
  ~Promise();
  // Sets the outcome, once: false, and nothing else, when it was set before.
  bool Set(Status status) const;

 private:
  friend std::pair<Completion, Promise> MakeCompletion();
  explicit Promise(std::shared_ptr<Completion::State> state);
  void Abandon();
  std::shared_ptr<Completion::State> state_;
};

std::pair<Completion, Promise> MakeCompletion();

// Whether this thread is inside Promise::Set, running callbacks, or inside of a CallbackScope: it
// may be a worker of a backend, so what waits for a backend's workers must be left to another
// thread.
bool RunningCallbacks();

// Around a call of a framework's code that a backend makes while a program runs.
class CallbackScope {
 public:
  CallbackScope();
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
};

// Ready when all of `all` are; fails with the first failure in the order given.
Completion WhenAll(std::span<const Completion> all);

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_COMPLETION_H_
