#ifndef PLUGIN_FFI_CALL_H_
#define PLUGIN_FFI_CALL_H_

// FfiCall: one custom_call of a program that a registered handler answers. What does not change
// from one execution to the next (attributes, types, dimensions) is laid out for the handler once.

#include <deque>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "backend/custom_call.h"
#include "generated/config.h"
#include "generated/xla_ffi_c_api.h"
#include "plugin/ffi_api.h"
#include "plugin/ffi_handlers.h"

namespace PJRT_PLUGIN_NS::plugin {

// A frame without arguments, results, attributes and context.
XLA_FFI_CallFrame EmptyCallFrame(XLA_FFI_ExecutionStage stage);

// Calls the handler. A failure, an exception too, is the Result's; else the completion is the end
// of what the handler started.
Result<Completion> CallFfi(XLA_FFI_Handler* handler, XLA_FFI_CallFrame* frame);

// Attributes as handlers see them, sorted by name.
class FfiAttributes {
 public:
  explicit FfiAttributes(backend::CallAttributes attributes);
  FfiAttributes(const FfiAttributes&) = delete;
  FfiAttributes& operator=(const FfiAttributes&) = delete;

  const XLA_FFI_Attrs& c() const { return c_; }

 private:
  backend::CallAttributes attributes_;  // what follows points into it
  std::deque<XLA_FFI_Scalar> scalars_;
  std::deque<XLA_FFI_Array> arrays_;
  std::deque<XLA_FFI_ByteSpan> strings_;
  std::list<FfiAttributes> dictionaries_;  // unlike a deque, takes the incomplete type
  std::vector<XLA_FFI_ByteSpan> names_;
  std::vector<XLA_FFI_ByteSpan*> name_pointers_;
  std::vector<XLA_FFI_AttrType> types_;
  std::vector<void*> values_;
  XLA_FFI_Attrs c_ = {};
};

class FfiCall final : public backend::CustomCall {
 public:
  // Lets the handler instantiate itself.
  static Result<std::unique_ptr<backend::CustomCall>> Create(
      const FfiHandler& handler, const backend::CallSignature& signature);

  Completion Run(std::span<void* const> arguments, std::span<void* const> results,
                 backend::CallContext& context) override;

 private:
  class Execution;

  FfiCall(const FfiHandler& handler, const backend::CallSignature& signature);
  Status Instantiate();
  // With the name of the handler in front.
  Status Explain(const Status& status) const;

  const FfiHandler handler_;
  const backend::CallSignature signature_;
  FfiAttributes attributes_;
  std::vector<XLA_FFI_Buffer> arguments_;  // without addresses
  std::vector<XLA_FFI_Buffer> results_;
  std::vector<XLA_FFI_ArgType> argument_types_;
  std::vector<XLA_FFI_RetType> result_types_;
  FfiState state_;
};

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_FFI_CALL_H_
