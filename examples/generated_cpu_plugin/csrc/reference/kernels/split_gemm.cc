#include <algorithm>

#include "reference/kernels/kernel_table.h"

namespace PJRT_PLUGIN_NS::reference::kernels {
namespace {

// Common multiples of the rows and columns of every ISA's register tile.
constexpr int64_t kRowUnit = 24;
constexpr int64_t kColumnUnit = 64;
// Fewer multiplications than this per part take less time than waking a thread.
constexpr int64_t kLeastWork = 64 * 64 * 64;

int64_t DivideUp(int64_t x, int64_t by) { return (x + by - 1) / by; }

int64_t PartSize(int64_t size, int64_t parts, int64_t unit) {
  return std::max<int64_t>(1, std::min(size, DivideUp(DivideUp(size, parts), unit) * unit));
}

}  // namespace

GemmSplit SplitGemm(int64_t m, int64_t n, int64_t k, int64_t threads) {
  GemmSplit best{1, 1, std::max<int64_t>(m, 1), std::max<int64_t>(n, 1)};
  if (m <= 0 || n <= 0 || k <= 0) return best;
  // In floating point: the product may not fit 64 bits.
  const double most = double(m) * double(n) * double(k) / double(kLeastWork);
  const int64_t parts = most < double(threads) ? int64_t(most) : threads;
  // The time is the largest part's: its multiplications, and the packing of its rows and columns.
  double least = -1;
  for (int64_t row_parts = 1; row_parts <= parts; ++row_parts) {
    const int64_t rows = PartSize(m, row_parts, kRowUnit);
    const int64_t columns = PartSize(n, parts / row_parts, kColumnUnit);
    const double time = double(rows) * double(columns) + 8.0 * double(rows + columns);
    if (least >= 0 && time >= least) continue;
    least = time;
    best = {DivideUp(m, rows), DivideUp(n, columns), rows, columns};
  }
  return best;
}

}  // namespace PJRT_PLUGIN_NS::reference::kernels
