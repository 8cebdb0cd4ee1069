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

// All layouts of some arrays, to and from the host in all orders of dimensions.
TEST(CopyStrided, BetweenAllLayouts) {
  const std::vector<std::vector<int64_t>> all_dims = {
      {}, {5}, {3, 4}, {40, 33}, {2, 3, 4}, {2, 1, 3, 2}, {2, 3, 2, 1, 2}, {3, 0, 2}, {1, 1}};
  for (const std::vector<int64_t>& dims : all_dims) {
    Shape device{DType::kF32, dims};
    for (size_t i = 0; i < dims.size(); ++i) device.minor_to_major.push_back(int64_t(i));
    Shape host = device;
    std::vector<float> values(size_t(device.num_elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i + 1);
    do {
      const Strides from = DeviceStrides(host);
      EXPECT_TRUE(IsAsOnDevice(host, from));
      const auto copy = DenseCopy(device, values.data(), from);
      std::vector<std::byte> want(device.byte_size());
      CopySlowly(dims, 4, reinterpret_cast<const std::byte*>(values.data()), from, want.data(),
                 DeviceStrides(device));
      EXPECT_TRUE(std::equal(want.begin(), want.end(), copy.get()));
      std::vector<float> back(values.size());
      CopyStrided(dims, 4, copy.get(), DeviceStrides(device), back.data(), from);
      EXPECT_TRUE(back == values);
      EXPECT_EQ(AreSameArrays(host, device),
                values.empty() || IsAsOnDevice(device, DeviceStrides(host)));
      // Each on each costs too much: the host's next order, and now and then the device's.
      if (values.size() % 3 == 0) {
        std::next_permutation(device.minor_to_major.begin(), device.minor_to_major.end());
      }
    } while (std::next_permutation(host.minor_to_major.begin(), host.minor_to_major.end()));
  }
}

TEST(IsAsOnDevice, IgnoresWhatDoesNotMatter) {
  const Shape shape{DType::kF32, {2, 1, 3}};
  EXPECT_TRUE(IsAsOnDevice(shape, RowMajor(shape)));
  EXPECT_TRUE(IsAsOnDevice(shape, Strides{12, 999, 4}));
  EXPECT_FALSE(IsAsOnDevice(shape, Strides{4, 8, 8}));
  EXPECT_TRUE(IsAsOnDevice(Shape{DType::kF32, {}}, {}));
  EXPECT_TRUE(IsAsOnDevice(Shape{DType::kF32, {2, 0}}, Strides{-4, 17}));
  const Shape columns{DType::kF32, {2, 1, 3}, {0, 1, 2}};
  EXPECT_TRUE(IsAsOnDevice(columns, Strides{4, 999, 8}));
  EXPECT_FALSE(IsAsOnDevice(columns, RowMajor(columns)));
  EXPECT_FALSE(AreSameArrays(shape, columns));
  EXPECT_TRUE(AreSameArrays(columns, Shape{DType::kF32, {2, 1, 3}, {0, 2, 1}}));
  EXPECT_FALSE(AreSameArrays(columns, Shape{DType::kF32, {2, 3, 1}, {0, 1, 2}}));
}

TEST(ShowShape, NamesLayoutsThatAreNotRowMajor) {
  EXPECT_EQ(ShowShape(Shape{DType::kF32, {2, 3}}), "f32[2,3]");
  EXPECT_EQ(ShowShape(Shape{DType::kF32, {2, 3}, {0, 1}}), "f32[2,3]{0,1}");
  EXPECT_EQ(ShowLayout(Shape{DType::kF32, {2, 3}}), "f32[2,3]{1,0}");
  EXPECT_EQ(ShowLayout(Shape{DType::kF32, {}}), "f32[]{}");
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

using Order = std::vector<int64_t>;

// The layout that an array gets, or the error.
Order Ask(Order dims, const Order& order, std::string* error = nullptr) {
  PJRT_Buffer_MemoryLayout layout = {};
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major = order.data();
  layout.tiled.minor_to_major_size = order.size();
  Shape shape{DType::kF32, std::move(dims)};
  const backend::Status status = SetLayout(&layout, "F", &shape);
  if (error != nullptr) *error = status.message();
  return shape.minor_to_major;
}

Order AskStrides(Order dims, const Strides& strides, std::string* error = nullptr) {
  PJRT_Buffer_MemoryLayout layout = {};
  layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  layout.strides.byte_strides = strides.data();
  layout.strides.num_byte_strides = strides.size();
  Shape shape{DType::kF32, std::move(dims)};
  const backend::Status status = SetLayout(&layout, "F", &shape);
  if (error != nullptr) *error = status.message();
  return shape.minor_to_major;
}

TEST(SetLayout, KeepsWhatIsNotRowMajor) {
  EXPECT_EQ(Ask({}, {}), Order());
  EXPECT_EQ(Ask({2, 3}, {1, 0}), Order());
  EXPECT_EQ(Ask({2, 3}, {0, 1}), (Order{0, 1}));
  EXPECT_EQ(Ask({1, 3}, {0, 1}), (Order{0, 1}));  // said as it was asked, though no other bytes
  EXPECT_EQ(Ask({2, 3, 4}, {1, 2, 0}), (Order{1, 2, 0}));
  std::string error;
  Ask({2, 3}, {0, 0}, &error);
  EXPECT_CONTAINS(error, "each of the 2");
}

TEST(SetLayout, ReadsStridesOfDenseArrays) {
  EXPECT_EQ(AskStrides({2, 3}, {12, 4}), Order());
  EXPECT_EQ(AskStrides({2, 3}, {4, 8}), (Order{0, 1}));
  EXPECT_EQ(AskStrides({2, 3, 4}, {48, 4, 12}), (Order{1, 2, 0}));
  EXPECT_EQ(AskStrides({1, 3}, {4, 4}), Order());
  EXPECT_EQ(AskStrides({2, 1, 3}, {4, 777, 8}), (Order{0, 2, 1}));
  EXPECT_EQ(AskStrides({2, 1, 3}, {4, 4, 8}), (Order{1, 0, 2}));
  EXPECT_EQ(AskStrides({0, 3}, {1, 1}), Order());
  for (const Strides& strides : {Strides{4, 16}, Strides{-12, 4}, Strides{0, 4}, Strides{4, 4}}) {
    std::string error;
    EXPECT_EQ(AskStrides({2, 3}, strides, &error), Order());
    EXPECT_CONTAINS(error, "for f32[2,3]; this plugin keeps arrays dense");
    EXPECT_CONTAINS(error, "[12,4]");
  }
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
