#ifndef PROGRAM_VERIFY_OP_H_
#define PROGRAM_VERIFY_OP_H_

// The specification's constraints on one op's types, attributes and regions, one function a family.
// Operand counts, attribute kinds and blocks' terminators have been checked before, so that all may
// be indexed.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "generated/config.h"
#include "program/ir.h"
#include "program/op_table.h"

namespace PJRT_PLUGIN_NS::program {

// Collects the first thing wrong with an op.
class OpCheck {
 public:
  explicit OpCheck(const Op& op) : op_(op) {}

  const Op& op() const { return op_; }
  // Empty: nothing is wrong.
  std::string_view problem() const { return problem_; }
  // The program may be right, but this front end does not take it.
  bool unsupported() const { return unsupported_; }

  // Notes `problem`, a constant text, unless `condition`; gives the condition back so that a check
  // may stop there.
  bool Require(bool condition, std::string_view problem) {
    if (!condition && problem_.empty()) problem_ = problem;
    return condition;
  }
  bool RequireSupported(bool condition, std::string_view problem) {
    if (!condition && problem_.empty()) unsupported_ = true;
    return Require(condition, problem);
  }

 private:
  const Op& op_;
  std::string_view problem_;
  bool unsupported_ = false;
};

// ---- Helpers ----

// Each in [0, limit), none twice.
bool AreDistinctDims(const Ints& dims, int64_t limit);
bool IsScalar(const Type& type, std::optional<DType> dtype = std::nullopt);
inline bool Contains(const Ints& ints, int64_t value) {
  for (int64_t one : ints)
    if (one == value) return true;
  return false;
}
// The block takes `arguments` and returns `results`.
bool HasSignature(const Block& block, const std::vector<Type>& arguments,
                  const std::vector<Type>& results);
// Scalars of the values' element types.
std::vector<Type> ElementTypes(std::span<Value* const> values);
// The size of a dimension after a window slid over it; none when the parameters are out of range.
struct WindowDim {
  int64_t size, stride, padding_low, padding_high, base_dilation, window_dilation;
};
std::optional<int64_t> WindowedSize(int64_t size, const WindowDim& window);

// ---- Families ----

void CheckElementwise(OpCheck& check);  // verify_elementwise.cc
void CheckShapeOp(OpCheck& check);      // verify_shape.cc: broadcast, reshape, slice, pad, ...
void CheckIndexing(OpCheck& check);     // verify_indexing.cc: gather, scatter, dynamic slices
void CheckReduction(OpCheck& check);    // verify_reduction.cc: reduce, windows, sort, map
void CheckContraction(OpCheck& check);  // verify_contraction.cc: dot, convolution
void CheckNumerics(OpCheck& check);     // verify_numerics.cc: linear algebra, fft, rng, batch norm
void CheckControlFlow(OpCheck& check);  // verify_control.cc: while, case, if, tuples, barrier
void CheckCollective(OpCheck& check);   // verify_collective.cc: between devices, Shardy

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_VERIFY_OP_H_
