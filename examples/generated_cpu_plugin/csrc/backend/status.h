#ifndef BACKEND_STATUS_H_
#define BACKEND_STATUS_H_

// Status and Result<T>: how every layer reports failure. No exceptions, no abort. A message names
// the function or op, the value seen, what is accepted, and the next step.
//
//   Result<int> Parse(std::string_view text) {
//     if (text.empty()) return InvalidArgument("num_devices is empty; give a number from 1 to 64");
//     ...
//   }
//   PJRT_PLUGIN_ASSIGN_OR_RETURN(int n, Parse(text));

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

// Same numbers as PJRT_Error_Code, which are those of absl::StatusCode and gRPC.
enum class Code : uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

class [[nodiscard]] Status {
 public:
  // Facts about a failure for programs to read, by name: a framework's own, carried along unread.
  using Payloads = std::vector<std::pair<std::string, std::string>>;

  Status() = default;
  Status(Code code, std::string message, Payloads payloads = {})
      : rep_(code == Code::kOk ? nullptr
                               : std::make_shared<const Rep>(
                                     Rep{code, std::move(message), std::move(payloads)})) {}

  bool ok() const { return rep_ == nullptr; }
  Code code() const { return ok() ? Code::kOk : rep_->code; }
  std::string_view message() const { return ok() ? std::string_view() : rep_->message; }
  std::span<const std::pair<std::string, std::string>> payloads() const {
    if (ok()) return {};
    return rep_->payloads;
  }

  // The same failure, with where it happened put in front: "while compiling jit_f: ...".
  Status Annotated(std::string_view prefix) const {
    if (ok()) return *this;
    return Status(code(), std::string(prefix) + ": " + std::string(message()), rep_->payloads);
  }

 private:
  struct Rep {
    Code code;
    std::string message;
    Payloads payloads;
  };
  // Shared: one failure poisons many buffers.
  std::shared_ptr<const Rep> rep_;
};

inline Status InvalidArgument(std::string m) { return {Code::kInvalidArgument, std::move(m)}; }
inline Status NotFound(std::string m) { return {Code::kNotFound, std::move(m)}; }
inline Status ResourceExhausted(std::string m) { return {Code::kResourceExhausted, std::move(m)}; }
inline Status FailedPrecondition(std::string m) {
  return {Code::kFailedPrecondition, std::move(m)};
}
inline Status Unimplemented(std::string m) { return {Code::kUnimplemented, std::move(m)}; }
inline Status Internal(std::string m) { return {Code::kInternal, std::move(m)}; }

// A T or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit on purpose: `return value;` and `return InvalidArgument(...);` both read naturally.
  Result(T value) : v_(std::in_place_index<1>, std::move(value)) {}
  // A Status that is OK is no value either: it becomes INTERNAL, lest the caller take it for
  // success.
  Result(Status status)
      : v_(std::in_place_index<0>,
           status.ok() ? Internal("a result was made of OK, without a value") : std::move(status)) {
  }

  bool ok() const { return v_.index() == 1; }
  Status status() const { return ok() ? Status() : std::get<0>(v_); }

  // Only after ok().
  T& operator*() & { return *std::get_if<1>(&v_); }
  const T& operator*() const& { return *std::get_if<1>(&v_); }
  T&& operator*() && { return std::move(*std::get_if<1>(&v_)); }
  T* operator->() { return std::get_if<1>(&v_); }
  const T* operator->() const { return std::get_if<1>(&v_); }

 private:
  std::variant<Status, T> v_;
};

}  // namespace PJRT_PLUGIN_NS::backend

#define PJRT_PLUGIN_CONCAT_INNER(a, b) a##b
#define PJRT_PLUGIN_CONCAT(a, b) PJRT_PLUGIN_CONCAT_INNER(a, b)

#define PJRT_PLUGIN_RETURN_IF_ERROR(expr)                                                        \
  do {                                                                                           \
    if (::PJRT_PLUGIN_NS::backend::Status pjrt_plugin_status = (expr); !pjrt_plugin_status.ok()) \
      return pjrt_plugin_status;                                                                 \
  } while (false)

#define PJRT_PLUGIN_ASSIGN_OR_RETURN(lhs, expr) \
  PJRT_PLUGIN_ASSIGN_OR_RETURN_INNER(PJRT_PLUGIN_CONCAT(result_, __LINE__), lhs, expr)
#define PJRT_PLUGIN_ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                                       \
  if (!result.ok()) return result.status();                   \
  lhs = *std::move(result)

#endif  // BACKEND_STATUS_H_
