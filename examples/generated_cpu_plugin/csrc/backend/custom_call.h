#ifndef BACKEND_CUSTOM_CALL_H_
#define BACKEND_CUSTOM_CALL_H_

// CustomCalls: functions in foreign code that programs call by name, which frameworks register with
// the plugin (jax.ffi.register_ffi_target). The plugin layer makes all of this out of the C API of
// such functions; a backend whose devices can be handed to foreign code uses it.
//
//   // Compiling a custom_call:
//   PJRT_PLUGIN_ASSIGN_OR_RETURN(std::unique_ptr<CustomCall> call,
//                                options.custom_calls->Instantiate({target, ...}));
//   // Running it, any number of times:
//   Completion done = call->Run(addresses_of_arguments, addresses_of_results, context);
//
// Threads: any member from any thread, though not under a lock: all of them run foreign code.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "backend/completion.h"
#include "backend/shape.h"
#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

// ---- What a call says besides its arrays ----

// Numbers in a row, in memory as arrays have them.
struct CallNumbers {
  DType dtype = DType::kF32;
  bool is_scalar = false;  // one number, and not a list that holds one
  std::vector<std::byte> bytes;
};

struct CallAttribute;
struct NamedCallAttribute;
using CallAttributes = std::vector<NamedCallAttribute>;

struct CallAttribute {
  std::variant<CallNumbers, std::string, CallAttributes> value;
};
struct NamedCallAttribute {
  std::string name;
  CallAttribute value;
};

// One call in a program.
struct CallSignature {
  std::string target;
  std::vector<std::optional<Shape>> arguments;  // nothing: a token
  std::vector<std::optional<Shape>> results;
  CallAttributes attributes;  // in any order
};

// ---- What a function may ask for while it runs ----

// Data that the framework gives to the functions of one execution, by the numbers of their types.
class UserData {
 public:
  virtual ~UserData() = default;
  // NOT_FOUND when the execution was started without data of that type.
  virtual Result<void*> Find(int64_t type) const = 0;
};

// The backend's side of one execution on one device.
class CallContext {
 public:
  virtual ~CallContext() = default;

  // The device's local_hardware_id.
  virtual int device() const = 0;
  // Equal for all calls of one execution of a program.
  virtual int64_t run_id() const = 0;
  // Null when the framework gave nothing.
  virtual const UserData* user_data() const { return nullptr; }

  // ---- Optional abilities ----

  // The device's own queue of work, as foreign code for it knows queues.
  virtual Result<void*> stream() {
    return Unimplemented("the devices of this backend have no streams for foreign functions");
  }
  // Working memory on the device, until Free or the end of the call. `alignment` is a power of two.
  virtual Result<void*> Allocate(size_t bytes, size_t alignment) {
    (void)bytes, (void)alignment;
    return Unimplemented("this backend allocates no device memory for foreign functions");
  }
  // INVALID_ARGUMENT for what Allocate did not give.
  virtual Status Free(void* address) {
    (void)address;
    return Unimplemented("this backend allocates no device memory for foreign functions");
  }
  // Runs `task` on a thread of the backend's, sooner or later; this thread will do.
  virtual Status Schedule(std::function<void()> task) {
    (void)task;
    return Unimplemented("this backend has no threads for foreign functions");
  }
  // How many tasks run at once.
  virtual Result<int64_t> num_threads() {
    return Unimplemented("this backend has no threads for foreign functions");
  }
};

// ---- Calling ----

// One call of a program, with whatever state its function keeps for it. Runs may overlap.
class CustomCall {
 public:
  virtual ~CustomCall() = default;

  // Calls the function with arrays that lie at these addresses, dense and row-major unless program
  // and function agree on something else; null for tokens. Arrays and context stay until the
  // completion is ready, which it often is at once. Fails with the function's failure.
  virtual Completion Run(std::span<void* const> arguments, std::span<void* const> results,
                         CallContext& context) = 0;
};

// All functions that are registered, of the whole process; a framework may register more at any
// time.
class CustomCalls {
 public:
  virtual ~CustomCalls() = default;

  // Looks the function up and lets it prepare itself for the call. UNIMPLEMENTED, for a function
  // that is not registered, lists those that are; INVALID_ARGUMENT is for attributes that functions
  // cannot take; else the function's failure.
  virtual Result<std::unique_ptr<CustomCall>> Instantiate(const CallSignature& signature) = 0;
};

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_CUSTOM_CALL_H_
