#include "plugin/compile_options.h"

#include <cstdint>
#include <random>
#include <string>
#include <variant>

#include "plugin/proto.h"
#include "plugin/sharding.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using Ids = std::vector<std::vector<int>>;

std::string Message(const std::string& build) {
  std::string out;
  PutBytes(3, build, &out);
  return out;
}

std::string BuildOptions(int64_t replicas, int64_t partitions, const Ids& ids) {
  std::string build;
  PutVarint(1, -1, &build);  // ten bytes long
  PutVarint(4, replicas, &build);
  PutVarint(5, partitions, &build);
  PutVarint(6, 1, &build);
  if (!ids.empty()) PutBytes(9, WriteDeviceAssignment(ids), &build);
  PutVarint(19, 1, &build);
  return build;
}

TEST(CompileOptions, NoBytesAreOneDevice) {
  const auto options = ReadCompileOptions("", "F");
  EXPECT_EQ(options->num_replicas, 1);
  EXPECT_EQ(options->num_partitions, 1);
  EXPECT_TRUE(options->device_assignment.empty());
}

// pitfall 72: compile options cannot be read without a large library
TEST(CompileOptions, ReadsWhatFrameworksSend) {
  const Ids ids = {{3, 1}, {0, 2}};
  std::string bytes = Message(BuildOptions(2, 2, ids));
  PutVarint(4, 1, &bytes);
  PutVarint(2, 1, &bytes);
  PutVarint(5, -1, &bytes);
  const auto options = ReadCompileOptions(bytes, "F");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->num_replicas, 2);
  EXPECT_EQ(options->num_partitions, 2);
  EXPECT_TRUE(options->use_spmd_partitioning);
  EXPECT_TRUE(options->use_shardy_partitioner);
  EXPECT_TRUE(options->portable);
  EXPECT_TRUE(options->tupled_arguments);
  EXPECT_TRUE(options->device_assignment == ids);
  EXPECT_EQ(options->serialized, bytes);
}

TEST(CompileOptions, CountsFollowTheAssignment) {
  const auto options = ReadCompileOptions(Message(BuildOptions(0, 0, {{5, 6, 7}})), "F");
  EXPECT_EQ(options->num_replicas, 1);
  EXPECT_EQ(options->num_partitions, 3);
}

// pitfall 72: compile options cannot be read without a large library
TEST(CompileOptions, OverridesHaveTypes) {
  const auto entry = [](const char* name, const std::string& value) {
    std::string out;
    PutBytes(1, name, &out);
    PutBytes(2, value, &out);
    return out;
  };
  std::string text, flag, number, bytes;
  PutBytes(1, "high", &text);
  PutVarint(2, 1, &flag);
  PutVarint(3, -7, &number);
  const std::string real("\x21\0\0\0\0\0\0\xe0\x3f", 9);  // field 4, a double: 0.5
  PutBytes(7, entry("text", text), &bytes);
  PutBytes(7, entry("flag", flag), &bytes);
  PutBytes(7, entry("number", number), &bytes);
  PutBytes(7, entry("real", real), &bytes);
  const auto options = ReadCompileOptions(bytes, "F");
  ASSERT_TRUE(options.ok() && options->overrides.size() == 4);
  EXPECT_EQ(std::get<std::string>(options->overrides[0].value), "high");
  EXPECT_EQ(std::get<bool>(options->overrides[1].value), true);
  EXPECT_EQ(std::get<int64_t>(options->overrides[2].value), -7);
  EXPECT_EQ(std::get<float>(options->overrides[3].value), 0.5f);
}

TEST(CompileOptions, ContradictionsAreRefused) {
  const auto failure = [](const std::string& bytes) {
    return std::string(ReadCompileOptions(bytes, "F").status().message());
  };
  EXPECT_CONTAINS(failure(Message(BuildOptions(1, 3, {{0, 1}}))), "num_partitions is 3");
  EXPECT_CONTAINS(failure(Message(BuildOptions(-1, 1, {}))), "num_replicas is -1");
  std::string lies, build;
  PutVarint(1, 1000000, &lies);
  PutVarint(2, 2, &lies);
  PutBytes(3, "", &lies);
  PutBytes(3, "", &lies);
  PutBytes(9, lies, &build);
  EXPECT_CONTAINS(failure(Message(build)), "1000000 replicas");
  EXPECT_CONTAINS(failure(Message(BuildOptions(1 << 20, 1 << 20, {}))), "is 1099511627776");
  EXPECT_CONTAINS(failure("\xff\xff"), "F: the compile options are no CompileOptionsProto");
}

// Whatever the bytes are, reading them ends with options or with an error.
TEST(CompileOptions, HostileBytes) {
  std::mt19937 random(11);
  const std::string good = Message(BuildOptions(2, 2, {{3, 1}, {0, 2}}));
  for (size_t size = 0; size < good.size(); ++size) {
    (void)ReadCompileOptions(good.substr(0, size), "F").ok();
  }
  int refused = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string bytes = good;
    for (int i = int(random() % 4); i >= 0; --i) bytes[random() % bytes.size()] = char(random());
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
    if (!ReadCompileOptions(bytes, "F").ok()) ++refused;
    std::string noise(random() % 64, '\0');
    for (char& c : noise) c = char(random());
    if (!ReadCompileOptions(noise, "F").ok()) ++refused;
  }
  EXPECT_TRUE(refused > 10000);
}

TEST(DeviceAssignment, EmptyStaysEmpty) { EXPECT_EQ(WriteDeviceAssignment({}), ""); }

TEST(OpSharding, WritesTilesAndCopies) {
  EXPECT_EQ(WriteOpSharding({}), std::string("\x08\0", 2));
  EXPECT_EQ(WriteOpSharding({{2, 1}, {0, 1}}),
            std::string("\x08\x03\x1a\x02\x02\x01\x22\x02\x00\x01", 10));
  EXPECT_EQ(WriteOpSharding({{2}, {0, 1, 2, 3}}),
            std::string("\x08\x03\x1a\x02\x02\x02\x22\x04\x00\x01\x02\x03\x30\x01", 14));
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
