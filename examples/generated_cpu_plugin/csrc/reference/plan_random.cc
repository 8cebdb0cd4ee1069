// rng_bit_generator. The specification leaves the order of the bits open: it is XLA's, so that
// programs give the same numbers here as there.

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "program/op_table.h"
#include "reference/lowerings.h"
#include "reference/random_bits.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

constexpr int64_t kBlocksPerThread = 4096;

// The first `bytes` bytes of `word` as element `i`; hosts are little-endian.
template <typename Word>
void Put(std::byte* out, int64_t i, size_t bytes, Word word) {
  std::memcpy(out + size_t(i) * bytes, &word, std::min(bytes, sizeof(word)));
}

uint64_t Join(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

// A block of Threefry is two elements of up to 32 bits, neighbours in the dimension `paired`, or
// one of 64 bits: then the dimensions are (1, 1, elements).
struct ThreeFryLayout {
  int64_t paired, half, inner;  // sizes: of the dimension, of half of it rounded up, behind it
  int64_t blocks;
};

ThreeFryLayout LayoutOf(const Dims& dims, size_t bytes) {
  const int64_t elements = Product(dims);
  if (bytes == 8 || dims.empty()) return {1, 1, elements, elements};
  // The first dimension of even size, or else the first of the largest.
  auto paired = std::find_if(dims.begin(), dims.end(), [](int64_t d) { return d % 2 == 0; });
  if (paired == dims.end()) paired = std::max_element(dims.begin(), dims.end());
  const int64_t half = (*paired + 1) / 2;
  const int64_t inner = Product(Dims(paired + 1, dims.end()));
  return {*paired, half, inner, Product(Dims(dims.begin(), paired)) * half * inner};
}

void FillThreeFry(const ThreeFryLayout& layout, size_t bytes, uint64_t key, uint64_t counter,
                  int64_t begin, int64_t end, std::byte* out) {
  for (int64_t block = begin; block < end; ++block) {
    const auto [x, y] = ThreeFry2x32(key, counter + uint64_t(block));
    if (bytes == 8) {
      Put(out, block, bytes, Join(x, y));
      continue;
    }
    const int64_t row = block / layout.inner, inside = block % layout.inner;
    const int64_t at = row % layout.half * 2;
    const int64_t first = (row / layout.half * layout.paired + at) * layout.inner + inside;
    Put(out, first, bytes, x);
    if (at + 1 < layout.paired) Put(out, first + layout.inner, bytes, y);
  }
}

// A block of Philox is the next four elements of up to 32 bits, or two of 64.
void FillPhilox(int64_t elements, size_t bytes, uint64_t key, uint64_t low, uint64_t high,
                int64_t begin, int64_t end, std::byte* out) {
  for (int64_t block = begin; block < end; ++block) {
    const uint64_t counter = low + uint64_t(block);
    const std::array<uint32_t, 4> x = Philox4x32(key, counter, high + (counter < low ? 1 : 0));
    if (bytes == 8) {
      for (int64_t i = 0; i < std::min<int64_t>(2, elements - 2 * block); ++i)
        Put(out, 2 * block + i, bytes, Join(x[size_t(2 * i)], x[size_t(2 * i + 1)]));
    } else {
      for (int64_t i = 0; i < std::min<int64_t>(4, elements - 4 * block); ++i)
        Put(out, 4 * block + i, bytes, x[size_t(i)]);
    }
  }
}

}  // namespace

Status LowerRngBitGenerator(PlanBuilder& b, const Op& op) {
  const Type& state_type = op.operand_type(0);
  const Type& type = op.type(1);
  const auto algorithm = op.As<program::RngAlgorithm>("rng_algorithm");
  const bool threefry = algorithm == program::RngAlgorithm::kThreeFry;
  const int64_t words = state_type.dims[0];
  if (state_type.dtype != DType::kU64 || (words != 2 && (threefry || words != 3)))
    return PlanBuilder::Unsupported(
        op, "the state is a vector of two ui64, or three for the Philox algorithm");
  if (backend::DTypeBits(type.dtype) < 8 || backend::IsComplex(type.dtype))
    return PlanBuilder::Unsupported(op, "the output has elements of 8, 16, 32 or 64 bits");
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place state, b.Dense(op.operands[0]));
  Place next = b.NewResult(op.result(0));
  Place out = b.NewResult(op.result(1));
  const size_t bytes = backend::DTypeBytes(type.dtype);
  const int64_t elements = type.num_elements();
  const ThreeFryLayout layout = LayoutOf(type.dims, bytes);
  const int64_t per_block = bytes == 8 ? 2 : 4;
  const int64_t blocks = threefry ? layout.blocks : (elements + per_block - 1) / per_block;
  b.Emit(op, {.reads = {state.buffer}, .writes = {next.buffer, out.buffer}},
         [=](const Frame& frame) {
           // The key, then the counter: of Philox 128 bits, of which a state of two words keeps
           // the low ones and has the key for the high ones.
           std::array<uint64_t, 3> s = {};
           std::memcpy(s.data(), state.At(frame), size_t(words) * sizeof(uint64_t));
           const uint64_t high = words == 3 ? s[2] : s[0];
           std::byte* to = out.At(frame);
           frame.pool->ParallelFor(blocks, kBlocksPerThread, [&](int64_t begin, int64_t end) {
             if (threefry) {
               FillThreeFry(layout, bytes, s[0], s[1], begin, end, to);
             } else {
               FillPhilox(elements, bytes, s[0], s[1], high, begin, end, to);
             }
           });
           const uint64_t counter = s[1] + uint64_t(blocks);
           if (counter < s[1]) ++s[2];
           s[1] = counter;
           std::memcpy(next.At(frame), s.data(), size_t(words) * sizeof(uint64_t));
           return Status();
         });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
