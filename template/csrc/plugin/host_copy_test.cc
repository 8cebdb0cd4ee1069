#include "plugin/host_copy.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using backend::DType;
using backend::Shape;

// The definition: every element by its indices.
void CopySlowly(const std::vector<int64_t>& dims, size_t bytes, const std::byte* src,
                const Strides& from, std::byte* dst, const Strides& to, size_t dim = 0) {
  if (dim == dims.size()) {
    std::memcpy(dst, src, bytes);
    return;
  }
  for (int64_t i = 0; i < dims[dim]; ++i) {
    CopySlowly(dims, bytes, src + i * from[dim], from, dst + i * to[dim], to, dim + 1);
  }
}

// Random views of random arrays: permuted, reversed, stepped, repeated, sliced.
// pitfall 56: strides of host arrays are ignored, so a transpose arrives wrong
TEST(CopyStrided, MatchesTheDefinition) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return int(random() % unsigned(n)); };
  constexpr DType kTypes[] = {DType::kS8, DType::kF16, DType::kF32, DType::kF64, DType::kC128};
  for (int round = 0; round < 3000; ++round) {
    Shape shape{kTypes[below(5)], {}};
    const int64_t item = int64_t(DTypeBytes(shape.dtype));
    const int rank = below(5);
    std::vector<int> order(rank);
    for (int i = 0; i < rank; ++i) {
      shape.dims.push_back(below(12) == 0 ? 0 : 1 + below(round % 10 == 0 ? 70 : 6));
      order[i] = i;
    }
    if (shape.num_elements() > 200000) continue;
    std::shuffle(order.begin(), order.end(), random);
    Strides strides(rank);
    int64_t stride = item;
    int64_t low = 0;
    for (int i : order) {
      const int64_t dim = std::max<int64_t>(shape.dims[i], 1);
      switch (below(5)) {
        case 0:  // backwards
          strides[i] = -stride;
          low += (dim - 1) * stride;
          stride *= dim;
          break;
        case 1:  // with gaps
          strides[i] = stride * 2;
          stride *= dim * 2;
          break;
        case 2:  // the same again and again
          strides[i] = 0;
          break;
        default:
          strides[i] = stride;
          stride *= dim;
      }
      if (stride > 4 << 20) break;
    }
    if (stride > 4 << 20) continue;
    std::vector<std::byte> source(stride + item);
    for (std::byte& b : source) b = std::byte(random());
    const size_t bytes = shape.byte_size();
    std::vector<std::byte> got(bytes + 1), want(bytes + 1);
    const Strides dense = RowMajor(shape);
    CopyStrided(shape.dims, item, source.data() + low, strides, got.data(), dense);
    CopySlowly(shape.dims, item, source.data() + low, strides, want.data(), dense);
    EXPECT_TRUE(got == want);
    if (std::find(strides.begin(), strides.end(), 0) != strides.end()) continue;
    std::vector<std::byte> back(source.size()), back_slowly(source.size());  // and the other way
    CopyStrided(shape.dims, item, want.data(), dense, back.data() + low, strides);
    CopySlowly(shape.dims, item, want.data(), dense, back_slowly.data() + low, strides);
    EXPECT_TRUE(back == back_slowly);
  }
}

TEST(IsRowMajor, IgnoresWhatDoesNotMatter) {
  const Shape shape{DType::kF32, {2, 1, 3}};
  EXPECT_TRUE(IsRowMajor(shape, RowMajor(shape)));
  EXPECT_TRUE(IsRowMajor(shape, Strides{12, 999, 4}));
  EXPECT_FALSE(IsRowMajor(shape, Strides{4, 8, 8}));
  EXPECT_TRUE(IsRowMajor(Shape{DType::kF32, {}}, {}));
  EXPECT_TRUE(IsRowMajor(Shape{DType::kF32, {2, 0}}, Strides{-4, 17}));
}

TEST(MakeShape, RefusesWhatIsNoShape) {
  const int64_t negative[] = {2, -1};
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  const int64_t huge_but_empty[] = {int64_t{1} << 40, 0, int64_t{1} << 40};
  EXPECT_CONTAINS(MakeShape(PJRT_Buffer_Type_F32, negative, 2, "F").status().message(), "[2,-1]");
  EXPECT_CONTAINS(MakeShape(PJRT_Buffer_Type_F32, huge, 2, "F").status().message(), "larger");
  EXPECT_CONTAINS(MakeShape(PJRT_Buffer_Type_F32, huge_but_empty, 3, "F").status().message(),
                  "larger");
  EXPECT_CONTAINS(MakeShape(PJRT_Buffer_Type_TOKEN, negative, 0, "F").status().message(), "token");
  EXPECT_CONTAINS(MakeShape(PJRT_Buffer_Type(99), negative, 0, "F").status().message(), "99");
  EXPECT_TRUE(MakeShape(PJRT_Buffer_Type_S4, huge, 1, "F").ok());
}

TEST(LayoutStrides, ReadsBothKinds) {
  const Shape shape{DType::kF32, {2, 3}};
  const int64_t column_major[] = {0, 1};
  PJRT_Buffer_MemoryLayout layout = {};
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major = column_major;
  layout.tiled.minor_to_major_size = 2;
  EXPECT_EQ(*LayoutStrides(&layout, shape, "F"), (Strides{4, 8}));
  layout.tiled.num_tiles = 1;
  EXPECT_CONTAINS(LayoutStrides(&layout, shape, "F").status().message(), "tiles");
  layout.tiled.num_tiles = 0;
  const int64_t twice[] = {1, 1};
  layout.tiled.minor_to_major = twice;
  EXPECT_CONTAINS(LayoutStrides(&layout, shape, "F").status().message(), "[1,1]");
  const int64_t outside[] = {2, -1};
  layout.tiled.minor_to_major = outside;
  EXPECT_CONTAINS(LayoutStrides(&layout, shape, "F").status().message(), "[2,-1]");
  layout.tiled.minor_to_major = nullptr;
  EXPECT_CONTAINS(LayoutStrides(&layout, shape, "F").status().message(), "minor_to_major of");
  layout.tiled.minor_to_major_size = 0;
  EXPECT_CONTAINS(LayoutStrides(&layout, shape, "F").status().message(), "each of the 2");
  layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  layout.strides.byte_strides = column_major;
  layout.strides.num_byte_strides = 1;
  EXPECT_CONTAINS(LayoutStrides(&layout, shape, "F").status().message(), "1 strides");
  layout.strides.byte_strides = nullptr;
  layout.strides.num_byte_strides = 2;
  EXPECT_CONTAINS(LayoutStrides(&layout, shape, "F").status().message(), "byte_strides of");
  layout.strides.num_byte_strides = 0;
  EXPECT_EQ(*LayoutStrides(&layout, Shape{DType::kF32, {}}, "F"), Strides());
  EXPECT_EQ(*LayoutStrides(nullptr, shape, "F"), (Strides{12, 4}));
}

TEST(CheckRowMajor, RefusesOtherLayouts) {
  const Shape shape{DType::kF32, {2, 3}};
  EXPECT_TRUE(CheckRowMajor(nullptr, shape, "F").ok());
  const int64_t order[] = {0, 1};
  PJRT_Buffer_MemoryLayout layout = {};
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major = order;
  layout.tiled.minor_to_major_size = 2;
  EXPECT_CONTAINS(CheckRowMajor(&layout, shape, "F").message(), "[4,8]; this plugin keeps arrays");
  EXPECT_TRUE(CheckRowMajor(&layout, Shape{DType::kF32, {1, 3}}, "F").ok());
}

TEST(Extent, OfStridesOfAnySign) {
  const Shape shape{DType::kF32, {2, 1, 3}};
  EXPECT_EQ(*Extent(shape, RowMajor(shape), "F"), size_t{24});
  EXPECT_EQ(*Extent(shape, Strides{100, 7, -8}, "F"), size_t{120});
  EXPECT_EQ(*Extent(shape, Strides{0, 0, 0}, "F"), size_t{4});
  EXPECT_EQ(*Extent(Shape{DType::kF32, {0, 3}}, Strides{1, 1}, "F"), size_t{0});
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(*Extent(shape, Strides{4, kMin, 4}, "F"), size_t{16});  // of a dimension of one
  for (int64_t stride : {kMin, kMin + 1, kMin / 2, kMax / 2, kMax}) {
    EXPECT_CONTAINS(Extent(shape, Strides{stride, 0, 4}, "F").status().message(), "beyond");
    EXPECT_CONTAINS(Extent(shape, Strides{4, 0, stride}, "F").status().message(), "beyond");
  }
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
