#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "program/op_table.h"
#include "reference/testing_run.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::Builder;
using program::ComparisonDirection;
using program::Ints;
using program::OpCode;

struct Pooling {
  Dims operand, windows;  // `windows`: the source's dimensions
  Ints sizes, strides, padding;
};

// Every source element goes to the largest element of its window, the first of equal ones.
template <typename T>
std::vector<T> Definition(const Pooling& p, const std::vector<T>& operand,
                          const std::vector<T>& source, T init) {
  const Dims in = DenseStrides(p.operand), out = DenseStrides(p.windows);
  std::vector<T> result(operand.size(), init);
  for (int64_t s = 0; s < Product(p.windows); ++s) {
    int64_t best = -1;
    const Dims inside = DenseStrides(p.sizes);
    for (int64_t w = 0; w < Product(p.sizes); ++w) {
      int64_t at = 0;
      bool valid = true;
      for (size_t d = 0; d < p.sizes.size(); ++d) {
        const int64_t window = s / out[d] % p.windows[d];
        const int64_t i = window * p.strides[d] + w / inside[d] % p.sizes[d] - p.padding[2 * d];
        valid = valid && i >= 0 && i < p.operand[d];
        at += i * in[d];
      }
      if (valid && (best < 0 || !(operand[size_t(best)] >= operand[size_t(at)]))) best = at;
    }
    if (best >= 0) result[size_t(best)] += source[size_t(s)];
  }
  return result;
}

void Build(Builder& b, const Pooling& p, DType dtype) {
  const Type scalar = Type::Tensor(dtype, {});
  const auto type =
      backend::IsFloat(dtype) ? program::ComparisonType::kFloat : program::ComparisonType::kSigned;
  Op* op = b.AddOp(OpCode::kSelectAndScatter, {b.argument(0), b.argument(1), b.argument(2)},
                   {Type::Tensor(dtype, p.operand)},
                   {{"padding", {p.padding}},
                    {"window_dimensions", {p.sizes}},
                    {"window_strides", {p.strides}}});
  b.BeginRegion(op, {scalar, scalar});
  const Block& select = *op->regions[0];
  b.Return({b.Add(OpCode::kCompare, {select.arguments[0].get(), select.arguments[1].get()},
                  program::Bool({}),
                  {{"compare_type", {int64_t(type)}},
                   {"comparison_direction", {int64_t(ComparisonDirection::kGe)}}})});
  b.BeginRegion(op, {scalar, scalar});
  const Block& scatter = *op->regions[1];
  b.Return({b.Add(OpCode::kAdd, {scatter.arguments[0].get(), scatter.arguments[1].get()}, scalar)});
  b.Return({op->result()});
}

template <typename T>
void Check(const Pooling& p, DType dtype, T init = 0) {
  std::vector<T> operand, source;
  for (int64_t i = 0; i < Product(p.operand); ++i) operand.push_back(T(i * 37 % 101 - 50));
  for (int64_t i = 0; i < Product(p.windows); ++i) source.push_back(T(i % 9 + 1));
  Builder b(
      {Type::Tensor(dtype, p.operand), Type::Tensor(dtype, p.windows), Type::Tensor(dtype, {})});
  Build(b, p, dtype);
  EXPECT_TRUE((Harness().One<T>(b.module(), {Bytes(operand), Bytes(source), Bytes<T>({init})}) ==
               Definition(p, operand, source, init)));
}

TEST(SelectAndScatter, WindowsThatTouchOrOverlap) {
  Check<float>({{2, 3, 8, 6}, {2, 3, 4, 3}, {1, 1, 2, 2}, {1, 1, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0}},
               DType::kF32);
  Check<double>({{2, 30, 30, 3}, {2, 28, 14, 3}, {1, 3, 4, 1}, {1, 1, 2, 1}, Ints(8, 0)},
                DType::kF64);
  Check<int8_t>({{9}, {7}, {3}, {1}, {0, 0}}, DType::kS8);
}

TEST(SelectAndScatter, Padding) {
  const Ints around = {0, 0, 1, 2, 2, 1, 0, 0};
  Check<float>({{2, 7, 6, 3}, {2, 4, 4, 3}, {1, 3, 3, 1}, {1, 2, 2, 1}, around}, DType::kF32, 5);
  Check<int64_t>({{2, 7, 6, 3}, {2, 4, 4, 3}, {1, 3, 3, 1}, {1, 2, 2, 1}, around}, DType::kS64);
  // What is cut away keeps the initial value.
  Check<float>({{8, 8}, {3, 6}, {2, 3}, {2, 1}, {-1, -1, 1, -1}}, DType::kF32, 2);
}

TEST(SelectAndScatter, NothingToSelect) {
  Check<float>({{3, 4}, {0, 4}, {5, 1}, {1, 1}, {0, 0, 0, 0}}, DType::kF32, 7);
  Check<float>({{0, 4}, {2, 4}, {2, 1}, {1, 1}, {1, 2, 0, 0}}, DType::kF32, 7);
  Check<float>({{}, {}, {}, {}, {}}, DType::kF32, 7);
  // Windows that see nothing but padding.
  Check<float>({{2}, {6}, {1}, {1}, {2, 2}}, DType::kF32, 7);
}

TEST(SelectAndScatter, NotANumberIsPassedOver) {
  Pooling p{{4}, {1}, {4}, {1}, {0, 0}};
  Builder b({Type::Tensor(DType::kF32, {4}), Type::Tensor(DType::kF32, {1}),
             Type::Tensor(DType::kF32, {})});
  Build(b, p, DType::kF32);
  EXPECT_EQ(Harness().One<float>(
                b.module(), {Bytes<float>({1, NAN, 3, 2}), Bytes<float>({9}), Bytes<float>({0})}),
            (std::vector<float>{0, 0, 9, 0}));
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
