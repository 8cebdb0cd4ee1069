#include "backend/completion.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace PJRT_PLUGIN_NS::backend {
namespace {

using Callback = std::function<void(const Status&)>;

thread_local int running_callbacks = 0;  // sets may nest

void Call(const Callback& callback, const Status& status) noexcept {
  try {
    callback(status);
  } catch (...) {  // nobody here could do anything about it
  }
}

}  // namespace

bool RunningCallbacks() { return running_callbacks != 0; }

CallbackScope::CallbackScope() { ++running_callbacks; }
CallbackScope::~CallbackScope() { --running_callbacks; }

struct Completion::State {
  std::atomic<bool> ready{false};
  std::mutex mutex;
  std::condition_variable cv;
  Status status;  // written once, before `ready`
  std::vector<Callback> callbacks;
};

Completion::Completion(std::shared_ptr<State> state) : state_(std::move(state)) {}

Completion::Completion(Status status) {
  if (status.ok()) return;
  state_ = std::make_shared<State>();
  state_->status = std::move(status);
  state_->ready.store(true, std::memory_order_release);
}

bool Completion::IsReady() const {
  return state_ == nullptr || state_->ready.load(std::memory_order_acquire);
}

Status Completion::status() const { return state_ == nullptr ? Status() : state_->status; }

Status Completion::Await() const {
  if (IsReady()) return status();
  std::unique_lock lock(state_->mutex);
  state_->cv.wait(lock, [&] { return state_->ready.load(std::memory_order_acquire); });
  return state_->status;
}

void Completion::OnReady(Callback callback) const {
  if (!IsReady()) {
    std::lock_guard lock(state_->mutex);
    if (!state_->ready.load(std::memory_order_acquire)) {
      state_->callbacks.push_back(std::move(callback));
      return;
    }
  }
  Call(callback, status());
}

Promise::Promise(std::shared_ptr<Completion::State> state) : state_(std::move(state)) {}

Promise::~Promise() { Abandon(); }

Promise& Promise::operator=(Promise&& other) noexcept {
  if (this != &other) {
    Abandon();
    state_ = std::move(other.state_);
  }
  return *this;
}

void Promise::Abandon() {
  if (state_ == nullptr || state_->ready.load(std::memory_order_acquire)) return;
  Set(Internal("the work was dropped before it finished"));
}

bool Promise::Set(Status status) const {
  // The callbacks may drop the last other reference to the state, and even this promise.
  std::shared_ptr<Completion::State> state = state_;
  if (state == nullptr) return false;
  std::vector<Callback> callbacks;
  {
    std::lock_guard lock(state->mutex);
    if (state->ready.load(std::memory_order_relaxed)) return false;
    state->status = std::move(status);
    callbacks.swap(state->callbacks);
    state->ready.store(true, std::memory_order_release);
    state->cv.notify_all();
  }
  const CallbackScope scope;
  for (const Callback& callback : callbacks) Call(callback, state->status);
  callbacks.clear();  // what they hold is let go of here too
  return true;
}

std::pair<Completion, Promise> MakeCompletion() {
  auto state = std::make_shared<Completion::State>();
  return {Completion(state), Promise(state)};
}

namespace {

Status FirstFailure(std::span<const Completion> all) {
  for (const Completion& one : all) {
    if (Status status = one.status(); !status.ok()) return status;
  }
  return Status();
}

struct Join {
  Join(size_t pending, std::span<const Completion> all, Promise promise)
      : left(pending), all(all.begin(), all.end()), promise(std::move(promise)) {}

  std::atomic<size_t> left;
  const std::vector<Completion> all;
  const Promise promise;
};

}  // namespace

Completion WhenAll(std::span<const Completion> all) {
  std::vector<const Completion*> pending;
  for (const Completion& one : all) {
    if (!one.IsReady()) pending.push_back(&one);
  }
  if (pending.empty()) return Completion(FirstFailure(all));
  if (all.size() == 1) return all.front();
  auto [done, promise] = MakeCompletion();
  auto join = std::make_shared<Join>(pending.size(), all, std::move(promise));
  for (const Completion* one : pending) {
    one->OnReady([join](const Status&) {
      if (join->left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        join->promise.Set(FirstFailure(join->all));
      }
    });
  }
  return done;
}

}  // namespace PJRT_PLUGIN_NS::backend
