#include "program/bytecode_literal.h"

#include <string>

#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::Status;

Literal Decode(Type type, std::string raw, Status* status) {
  Cursor in("", 0, status);
  return DecodeLiteral(type, raw, in);
}

std::vector<int64_t> Ints64(const Literal& literal) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < literal.type.num_elements(); ++i) values.push_back(literal.IntAt(i));
  return values;
}

using Values = std::vector<int64_t>;

Type Bools(Dims dims) { return Type::Tensor(DType::kPred, std::move(dims)); }

// pitfall 60: constants of booleans are read as bytes, though they are packed bits
TEST(Literal, UnpacksBools) {
  Status status;
  EXPECT_EQ(Ints64(Decode(Bools({9}), "\x05\x01", &status)), (Values{1, 0, 1, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(Ints64(Decode(Bools({2}), std::string("\x02", 1), &status)), (Values{0, 1}));
  EXPECT_TRUE(status.ok());
}

TEST(Literal, KnowsBoolSplats) {
  Status status;
  const Literal all = Decode(Bools({3}), "\xff", &status);
  EXPECT_TRUE(all.splat);
  EXPECT_EQ(Ints64(all), (Values{1, 1, 1}));
  EXPECT_EQ(Ints64(Decode(Bools({3}), std::string(1, '\0'), &status)), (Values{0, 0, 0}));
  // A byte that could be eight packed elements or a splat is the splat.
  EXPECT_EQ(Ints64(Decode(Bools({8}), "\xff", &status)), Values(8, 1));
  EXPECT_TRUE(status.ok());
}

TEST(Literal, ReadsOneBoolByItself) {
  Status status;
  for (Dims dims : {Dims{}, Dims{1}, Dims{1, 1}}) {
    EXPECT_EQ(Ints64(Decode(Bools(dims), "\x01", &status)), Values{1});
    EXPECT_EQ(Ints64(Decode(Bools(dims), "\xff", &status)), Values{1});
    EXPECT_EQ(Ints64(Decode(Bools(dims), std::string(1, '\0'), &status)), Values{0});
  }
  EXPECT_TRUE(status.ok());
}

TEST(Literal, ReadsOneByteABool) {
  Status status;
  EXPECT_EQ(Ints64(Decode(Bools({3}), std::string("\1\0\1", 3), &status)), (Values{1, 0, 1}));
  EXPECT_TRUE(status.ok());
}

TEST(Literal, ExtendsNarrowIntegers) {
  Status status;
  const std::string raw = "\x07\x0f\xff";
  EXPECT_EQ(Ints64(Decode(Type::Tensor(DType::kS4, {3}), raw, &status)), (Values{7, -1, -1}));
  EXPECT_EQ(Ints64(Decode(Type::Tensor(DType::kU4, {3}), raw, &status)), (Values{7, 15, 15}));
  EXPECT_EQ(Ints64(Decode(Type::Tensor(DType::kS2, {3}), raw, &status)), (Values{-1, -1, -1}));
  EXPECT_TRUE(status.ok());
}

TEST(Literal, ReadsSplatsOfAnySize) {
  Status status;
  const Literal big = Decode(Type::Tensor(DType::kS32, {1 << 20, 1 << 20}), {1, 0, 0, 0}, &status);
  EXPECT_TRUE(big.splat);
  EXPECT_EQ(big.data->size(), 4u);
  EXPECT_EQ(big.IntAt(int64_t{1} << 39), 1);
}

TEST(Literal, ReadsTheExtremesOf64Bits) {
  Status status;
  const std::string ones(8, '\xff');
  EXPECT_EQ(Ints64(Decode(Type::Tensor(DType::kS64, {}), ones, &status)), Values{-1});
  EXPECT_EQ(Ints64(Decode(Type::Tensor(DType::kU64, {}), ones, &status)), Values{-1});  // as bits
  EXPECT_EQ(Ints64(Decode(Type::Tensor(DType::kU32, {}), "\xff\xff\xff\xff", &status)),
            Values{0xffffffff});
}

TEST(Literal, HasNoBytesWhenEmpty) {
  Status status;
  const Literal empty = Decode(Type::Tensor(DType::kF32, {0, 4}), "", &status);
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(empty.splat);
  EXPECT_EQ(empty.Dense().size(), 0u);
}

TEST(Literal, ExpandsSplats) {
  Status status;
  const Literal pair = Decode(Type::Tensor(DType::kS16, {2}), {7, 1}, &status);
  EXPECT_EQ(pair.Dense().size(), 4u);
  EXPECT_EQ(int(pair.Dense()[2]), 7);
}

TEST(Literal, RefusesOtherSizes) {
  Status status;
  Decode(Type::Tensor(DType::kF32, {3}), std::string(8, '\0'), &status);
  EXPECT_CONTAINS(status.message(), "8 bytes for a constant of the type tensor<3xf32>");
  Status dynamic;
  Decode(Type::Tensor(DType::kF32, {kDynamic}), std::string(4, '\0'), &dynamic);
  EXPECT_CONTAINS(dynamic.message(), "tensor<?xf32>");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
