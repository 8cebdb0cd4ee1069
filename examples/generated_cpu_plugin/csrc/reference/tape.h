#ifndef REFERENCE_TAPE_H_
#define REFERENCE_TAPE_H_

// Tape: a fused elementwise computation. A list of typed vector kernels over registers, run block
// by block, so that everything between the inputs and the outputs stays in the L1 cache. It is the
// form of fused loops and of the bodies of reduce, scatter, sort and map.
//
//   TapeBuilder b;
//   auto x = b.Input(DType::kF32);                       // in[0], dense
//   auto two = b.Constant(DType::kF32, &two_bytes);
//   b.Output(*b.Apply(ElementwiseOp::kMultiply, {x, two}));
//   Tape tape = std::move(b).Build();
//   tape.Run(in, out, 0, n);                             // out[0][i] = in[0][i] * 2

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/dtype.h"
#include "generated/config.h"
#include "reference/kernels/kernel_table.h"

namespace PJRT_PLUGIN_NS::reference {

using backend::DType;
using Dims = std::vector<int64_t>;

// How element i of a fused loop, counted over `dims` row by row, is read from an operand. Strides
// in elements, may be zero or negative.
struct StridedLoad {
  Dims dims;
  Dims strides;
};

class Tape {
 public:
  // Elements of one block: few enough that a dozen registers fit the L1 cache, enough to hide the
  // calls.
  static constexpr int64_t kMaxBlock = 1024;

  // Computes elements [begin, end) of the loop. `in[k]` is input k's element 0 (of a strided one
  // the element at index 0), `out[k]` output k's. Safe to run on several threads for disjoint
  // ranges.
  void Run(const void* const* in, void* const* out, int64_t begin, int64_t end) const;

  size_t num_inputs() const { return inputs_; }
  size_t num_outputs() const { return outputs_.size(); }
  size_t num_kernels() const { return instructions_.size(); }
  DType output_type(size_t k) const { return registers_[outputs_[k]].dtype; }
  // Rough work of one element, in units of a simple vector operation on 4 bytes.
  double cost() const { return cost_; }
  // Whether output `out` may be written over input `in` (same size, dense, read no later than `out`
  // is written).
  bool CanShare(size_t in, size_t out) const;

 private:
  friend class TapeBuilder;
  enum class Place : uint8_t { kInput, kScalarInput, kConstant, kOutput, kScratch };
  struct Register {
    DType dtype = DType::kF32;
    Place place = Place::kScratch;
    uint32_t index =
        0;  // of the input or output, offset of the constant, number of the scratch slot
    int32_t last_read = -1;
    int32_t written = -1;
  };
  enum class Kind : uint8_t { kCompute, kChain, kLoad, kIota, kCopy };
  struct Instruction {
    Kind kind = Kind::kCompute;
    uint8_t arity = 0;
    uint8_t scalars = 0;
    uint32_t out = 0;  // register
    // Registers. Of a load: in[0] the input, in[1] the index in loads_; of a chain: in[0] the first
    // register, in[1] the index in chains_; of an iota: in[0] the index in iotas_.
    uint32_t in[3] = {};
    kernels::ElementwiseFn fn = nullptr;  // of a computation
  };
  struct Iota {
    kernels::IotaFn fn;
    int64_t inner, size;  // element i has the value (i / inner) % size
  };
  // Cheap operations in a row, run by one kernel that keeps the values between them to itself.
  struct ChainLink {
    kernels::ChainOp op;
    bool scalar;
    uint32_t in;   // the register of the other operand
    uint32_t out;  // the register to store in, or kNotStored
  };
  static constexpr uint32_t kNotStored = ~uint32_t{0};
  struct Chain {
    kernels::ChainFn fn;
    std::vector<ChainLink> links;
  };
  // Elements [begin, begin + n).
  static void FillIota(const Iota& iota, size_t bytes, int64_t begin, int64_t n, std::byte* out);
  void RunChain(const Chain& chain, const std::byte* first, std::byte* const* base,
                const int64_t* step, int64_t begin, int64_t n) const;

  std::vector<Register> registers_;
  std::vector<Instruction> instructions_;
  std::vector<StridedLoad> loads_;
  std::vector<Iota> iotas_;
  std::vector<Chain> chains_;
  std::vector<std::byte> constants_;
  std::vector<uint32_t> outputs_;
  size_t inputs_ = 0;
  size_t scratch_slots_ = 0;
  size_t slot_bytes_ = 1;  // of one element
  double cost_ = 0;
};

class TapeBuilder {
 public:
  using Reg = uint32_t;

  // A new input, in the order of Tape::Run's `in`.
  Reg Input(DType dtype);
  Reg ScalarInput(DType dtype);
  Reg StridedInput(DType dtype, StridedLoad load);
  Reg Constant(DType dtype, const std::byte* value);
  // (i / inner) % size
  Reg Iota(DType dtype, int64_t inner, int64_t size);

  // Nothing when the kernels do not know the operation for this dtype.
  std::optional<Reg> Apply(kernels::ElementwiseOp op, std::span<const Reg> in);
  Reg Convert(Reg in, DType to);
  // The same bits as another type of the same size.
  Reg Bitcast(Reg in, DType to);
  // Makes a register an output. Costs a copy when it is an input or an output already.
  void Output(Reg reg);

  DType dtype(Reg reg) const { return dtypes_[reg]; }
  size_t size() const { return tape_.instructions_.size(); }
  Tape Build() &&;

 private:
  Reg New(DType dtype, Tape::Place place, uint32_t index);
  // The register that holds the bits of `reg` (see Bitcast).
  Reg Real(Reg reg) const { return alias_[reg]; }
  bool IsScalar(Reg reg) const;
  // What a computation does, and in which type; of what else there is, conversions too, nothing.
  struct Meaning {
    std::optional<kernels::ElementwiseOp> op;
    DType dtype;
  };
  Reg Emit(Tape::Instruction instruction, DType dtype, Meaning meaning = {});
  void NoteLives();
  void MakeChains();
  void AssignSlots();
  std::optional<Tape::ChainLink> LinkOf(const Tape::Instruction& one, const Meaning& meaning,
                                        uint32_t running) const;

  Tape tape_;
  std::vector<Meaning> meanings_;  // by instruction, until chains are made of them
  // By register number of the builder, which counts bitcasts too.
  std::vector<DType> dtypes_;
  std::vector<Reg> alias_;
};

// What a kernel of this operation costs beside a simple one.
double CostOf(kernels::ElementwiseOp op);
// For types without arithmetic: the type to compute in; the type itself otherwise.
DType ComputeType(DType dtype);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_TAPE_H_
