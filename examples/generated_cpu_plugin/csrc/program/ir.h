#ifndef PROGRAM_IR_H_
#define PROGRAM_IR_H_

// The typed IR of a StableHLO program: a module of functions, each one block of operations in SSA
// form.
//
// One OpCode for each operation of the specification, whatever version of it was read; names of
// operations and attributes are the specification's. The reader fills this in, verify.h checks it,
// passes rewrite it. After Verify a consumer may rely on what op_table.h declares: operand counts,
// attributes present and of the declared kind, regions with one block, types that agree. Nothing
// here is thread-safe; a module belongs to one compilation.
//
//   for (auto& op : module.main()->body.ops)
//     if (op->code == OpCode::kAdd) ...

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "backend/dtype.h"
#include "generated/config.h"
#include "program/sharding.h"

namespace PJRT_PLUGIN_NS::program {

using backend::DType;
using Dims = std::vector<int64_t>;

// A dimension whose size is known only at run time.
inline constexpr int64_t kDynamic = std::numeric_limits<int64_t>::min();
// More elements than any memory holds: products of dimensions up to it do not overflow.
inline constexpr int64_t kMaxElements = int64_t{1} << 56;
// Regions in one another, which passes walk by recursion: the readers refuse more.
inline constexpr int kMaxRegionDepth = 200;

// ---- Types ----

enum class TypeKind : uint8_t { kTensor, kToken, kTuple, kFunction, kNone };

struct Type {
  TypeKind kind = TypeKind::kNone;
  DType dtype = DType::kF32;   // of a tensor
  Dims dims;                   // of a tensor, major to minor
  std::vector<Type> elements;  // of a tuple; of a function: inputs, then results
  size_t num_inputs = 0;       // of a function

  static Type Tensor(DType dtype, Dims dims) {
    Type t;
    t.kind = TypeKind::kTensor, t.dtype = dtype, t.dims = std::move(dims);
    return t;
  }
  static Type Token() {
    Type t;
    t.kind = TypeKind::kToken;
    return t;
  }
  bool is_tensor() const { return kind == TypeKind::kTensor; }
  int64_t rank() const { return int64_t(dims.size()); }
  bool is_static() const {
    for (int64_t d : dims)
      if (d == kDynamic) return false;
    return true;
  }
  // Only for static tensors.
  int64_t num_elements() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
  size_t byte_size() const { return size_t(num_elements()) * backend::DTypeBytes(dtype); }

  friend bool operator==(const Type&, const Type&) = default;
};

// The element type that MLIR calls `name`, such as "bf16"; nothing for those that no array has.
std::optional<DType> DTypeByName(std::string_view name);

// "tensor<2x3xf32>", as MLIR prints it.
std::string ToString(const Type& type);

// ---- Constants ----

// A constant tensor. The bytes are dense and row-major, one whole byte for an i1 (0 or 1) or a
// narrow element (i2 and i4 sign-extended), or one element alone where all are equal: a splat, as
// every one-element tensor is. Shared, never changed.
struct Literal {
  Type type;
  bool splat = false;
  std::shared_ptr<const std::vector<std::byte>> data;

  const std::byte* bytes() const { return data->data(); }
  // Element `i` (row-major) read through its dtype; only for i1 and integers.
  int64_t IntAt(int64_t i) const;
  // All elements, dense; expands a splat.
  std::vector<std::byte> Dense() const;

  // The same type and elements, bit by bit; a splat differs from its expansion.
  friend bool operator==(const Literal& a, const Literal& b);
};

// ---- Attributes ----

struct Attribute;
struct NamedAttribute;
using AttributeList = std::vector<NamedAttribute>;  // few: looked up in order

// What an attribute may hold. Lists of integers (dimension numbers, strides, padding and
// source_target_pairs row by row, precision_config) are Ints whatever form they had in the file;
// replica_groups is a list with the Ints of each group; enumerations are their value in
// op_table.h's enums. ops.inc lists what each op has.
using Ints = std::vector<int64_t>;
struct Attribute {
  std::variant<std::monostate, bool, int64_t, double, std::string, Ints, Type, Literal,
               std::vector<Attribute>, AttributeList, Sharding>
      value;
  // Of an integer, a float or Ints that no op declares (a custom call's own): the type that it has
  // in the file, where it is one of a tensor's.
  std::optional<DType> dtype = std::nullopt;

  template <typename T>
  const T* As() const {
    return std::get_if<T>(&value);
  }
  friend bool operator==(const Attribute&, const Attribute&);
};
struct NamedAttribute {
  std::string name;
  Attribute value;

  friend bool operator==(const NamedAttribute&, const NamedAttribute&) = default;
};

// ---- Operations ----

enum class OpCode : uint16_t {
#define PJRT_PLUGIN_OP(code, name, ...) code,
#include "program/ops.inc"
#undef PJRT_PLUGIN_OP
};
// "add": the specification's name, without dialect.
std::string_view OpName(OpCode code);

struct Location {
  std::string file;  // empty: unknown
  int line = 0;
  int column = 0;
  std::string name;  // the framework's path to the op: "jit(f)/jit(main)/add"
};
// "jit(f)/add at model.py:12:3".
std::string ToString(const Location& location);

struct Op;
struct Block;

// An SSA value: the result `index` of `op`, or, with no op, the argument `index` of `block`.
struct Value {
  Type type;
  Op* op = nullptr;
  Block* block = nullptr;
  size_t index = 0;
};

// Operations in order; the last one is kReturn, whose operands are the block's results.
struct Block {
  std::vector<std::unique_ptr<Value>> arguments;
  std::vector<std::unique_ptr<Op>> ops;

  Op* terminator() const { return ops.back().get(); }
};

struct Op {
  OpCode code;
  std::vector<Value*> operands;
  std::vector<std::unique_ptr<Value>> results;
  AttributeList attributes;                     // the specification's
  AttributeList discardable;                    // mhlo.*, sdy.*, jax.*: hints
  std::vector<std::unique_ptr<Block>> regions;  // every region has one block
  std::shared_ptr<const Location> location;     // never null

  Value* result(size_t i = 0) const { return results[i].get(); }
  const Type& type(size_t i = 0) const { return results[i]->type; }
  const Type& operand_type(size_t i) const { return operands[i]->type; }
  const Attribute* Find(std::string_view name) const;
  // For attributes that Verify has established.
  bool Bool(std::string_view name) const { return std::get<bool>(Find(name)->value); }
  int64_t Int(std::string_view name) const { return std::get<int64_t>(Find(name)->value); }
  const Ints& IntList(std::string_view name) const { return std::get<Ints>(Find(name)->value); }
  const std::string& String(std::string_view name) const {
    return std::get<std::string>(Find(name)->value);
  }
  // For replica_groups: one Ints a group.
  std::vector<Ints> IntRows(std::string_view name) const;
  const Literal& Constant(std::string_view name = "value") const {
    return std::get<Literal>(Find(name)->value);
  }
  template <typename Enum>
  Enum As(std::string_view name) const {
    return static_cast<Enum>(Int(name));
  }
};

struct Function {
  std::string name;
  Type type;  // kFunction
  std::vector<AttributeList>
      argument_attributes;  // one list an argument: tf.aliasing_output, sdy.sharding, ...
  std::vector<AttributeList> result_attributes;
  Block body;
};

struct Module {
  std::string name;
  int64_t num_partitions = 1;
  int64_t num_replicas = 1;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<Mesh> meshes;
  AttributeList attributes;  // mhlo.frontend_attributes and other hints

  // Null when there is none.
  Function* Find(std::string_view function) const;
  Function* main() const { return Find("main"); }
};

// `"add"(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>`: an op with its types, for messages.
std::string Signature(const Op& op);

// The module in MLIR's generic form, for dumps, tests and the optimized program.
std::string ToString(const Module& module);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_IR_H_
