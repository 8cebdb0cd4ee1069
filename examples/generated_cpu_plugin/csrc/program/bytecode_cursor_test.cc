#include "program/bytecode_cursor.h"

#include <limits>
#include <string>

#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::Status;

// The bytes as a text, NULs included.
template <size_t N>
std::string Bytes(const unsigned char (&bytes)[N]) {
  return {reinterpret_cast<const char*>(bytes), N};
}

TEST(Cursor, ReadsVarintsOfEveryLength) {
  Status status;
  // The value 1 in one to nine bytes: the trailing zero bits of the first byte count the others.
  for (int more = 0; more <= 8; ++more) {
    std::string text(size_t(more) + 1, '\0');
    if (more == 8) {
      text[1] = 1;
    } else {
      const uint64_t word = (uint64_t{1} << 1 | 1) << more;
      for (int i = 0; i <= more; ++i) text[size_t(i)] = char(word >> (8 * i));
    }
    Cursor in(text, 0, &status);
    EXPECT_EQ(in.Varint(), 1u);
    EXPECT_TRUE(in.done());
  }
  EXPECT_TRUE(status.ok());
}

TEST(Cursor, ReadsTheLargestVarint) {
  Status status;
  const std::string text("\0\xff\xff\xff\xff\xff\xff\xff\xff", 9);
  EXPECT_EQ(Cursor(text, 0, &status).Varint(), ~uint64_t{0});
  EXPECT_EQ(Cursor(text, 0, &status).SignedVarint(), std::numeric_limits<int64_t>::min());
}

TEST(Cursor, ReadsSignedAndFlagged) {
  Status status;
  const std::string text = Bytes({0x05, 0x03, 0x17});
  Cursor in(text, 0, &status);
  EXPECT_EQ(in.SignedVarint(), 1);
  EXPECT_EQ(in.SignedVarint(), -1);
  const auto [value, flag] = in.FlaggedVarint();
  EXPECT_EQ(value, 5u);
  EXPECT_TRUE(flag);
}

TEST(Cursor, KeepsTheFirstFailure) {
  Status status;
  const std::string text = Bytes({0x02});  // one more byte is due
  Cursor in(text, 100, &status);
  EXPECT_EQ(in.Varint(), 1u >> 2);
  EXPECT_EQ(status.code(), backend::Code::kInvalidArgument);
  EXPECT_CONTAINS(status.message(), "at byte 101: 1 bytes expected, but only 0 follow");
  in.Fail("something else");
  EXPECT_CONTAINS(status.message(), "1 bytes expected");
  EXPECT_EQ(in.Byte(), 0);
  EXPECT_EQ(in.Count(), 0u);
}

TEST(Cursor, BoundsCountsByTheBytesLeft) {
  Status status;
  const std::string text = Bytes({0x07, 0, 0});  // 3 items in two bytes
  Cursor in(text, 0, &status);
  EXPECT_EQ(in.Count(), 0u);
  EXPECT_CONTAINS(status.message(), "a count of 3 items, but only 2 bytes follow");
}

TEST(Cursor, ChecksIndices) {
  Status status;
  const std::string text = Bytes({0x09});
  Cursor in(text, 0, &status);
  EXPECT_EQ(in.Index(4, "types"), 0u);
  EXPECT_CONTAINS(status.message(), "index 4 into the 4 types");
}

TEST(Cursor, AlignsFromTheBeginningOfTheFile) {
  Status status;
  const std::string good = Bytes({0xcb, 0xcb, 0x11});
  Cursor in(good, 6, &status);
  in.Align(8);
  EXPECT_EQ(in.Byte(), 0x11);
  EXPECT_TRUE(status.ok());
  Cursor odd(good, 0, &status);
  odd.Align(3);
  EXPECT_CONTAINS(status.message(), "no power of two");
}

TEST(Cursor, WantsAStringToEnd) {
  Status status;
  Cursor in("abc", 0, &status);
  EXPECT_EQ(in.CString(), "");
  EXPECT_CONTAINS(status.message(), "without its closing NUL");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
