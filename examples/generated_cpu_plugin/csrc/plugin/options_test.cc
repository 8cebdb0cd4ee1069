#include "plugin/options.h"

#include <cstring>
#include <string>
#include <vector>

#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

constexpr backend::OptionSpec kSpecs[] = {
    {.name = "num_devices", .help = "how many", .default_value = int64_t{4}, .min = 1, .max = 64},
    {.name = "fast", .help = "be fast", .default_value = false},
    {.name = "fraction", .help = "of memory", .default_value = 0.5},
    {.name = "visible", .help = "ids", .default_value = std::string_view("all")},
};

PJRT_NamedValue Named(const char* name, PJRT_NamedValue_Type type) {
  PJRT_NamedValue value = {};
  value.struct_size = sizeof(value);
  value.name = name;
  value.name_size = std::strlen(name);
  value.type = type;
  value.value_size = 1;
  return value;
}
PJRT_NamedValue Text(const char* name, const char* text) {
  PJRT_NamedValue value = Named(name, PJRT_NamedValue_kString);
  value.string_value = text;
  value.value_size = std::strlen(text);
  return value;
}
PJRT_NamedValue Int(const char* name, int64_t number) {
  PJRT_NamedValue value = Named(name, PJRT_NamedValue_kInt64);
  value.int64_value = number;
  return value;
}

const char* NoEnvironment(const char*) { return nullptr; }
backend::Result<backend::DriverOptions> Parse(std::vector<PJRT_NamedValue> given,
                                              GetEnv get_env = NoEnvironment) {
  return ParseOptions(given, kSpecs, get_env);
}
std::string Failure(std::vector<PJRT_NamedValue> given, GetEnv get_env = NoEnvironment) {
  return std::string(Parse(std::move(given), get_env).status().message());
}

TEST(Options, DefaultsAreThere) {
  const auto options = Parse({});
  EXPECT_EQ(options->options.Int("num_devices"), 4);
  EXPECT_EQ(options->options.Bool("fast"), false);
  EXPECT_EQ(options->options.Double("fraction"), 0.5);
  EXPECT_EQ(options->options.String("visible"), "all");
  EXPECT_EQ(options->num_processes, 1);
}

TEST(Options, EveryTypeCanBeText) {
  const auto options = Parse({Text("num_devices", "8"), Text("fast", "True"),
                              Text("fraction", "0.25"), Text("visible", "0,1")});
  EXPECT_EQ(options->options.Int("num_devices"), 8);
  EXPECT_EQ(options->options.Bool("fast"), true);
  EXPECT_EQ(options->options.Double("fraction"), 0.25);
  EXPECT_EQ(options->options.String("visible"), "0,1");
}

TEST(Options, ListsBecomeText) {
  const int64_t ids[] = {0, 2};
  PJRT_NamedValue list = Named("visible", PJRT_NamedValue_kInt64List);
  list.int64_array_value = ids;
  list.value_size = 2;
  EXPECT_EQ(Parse({list})->options.String("visible"), "0,2");
  list.name = "fraction";
  list.name_size = 8;
  EXPECT_CONTAINS(Failure({list}), "[0,2]; give a number");
}

TEST(Options, UnknownOnesAreRefusedWithTheList) {
  const std::string message = Failure({Int("num_device", 2)});
  EXPECT_CONTAINS(message, "no option \"num_device\"");
  EXPECT_CONTAINS(message, "num_devices (an integer from 1 to 64): how many");
  EXPECT_CONTAINS(message, "fast (true or false)");
  EXPECT_CONTAINS(message, "fraction (a number)");
  EXPECT_CONTAINS(message, "visible (text)");
}

TEST(Options, WrongValuesSayWhatIsAccepted) {
  EXPECT_CONTAINS(Failure({Int("num_devices", 65)}), "num_devices is 65; give an integer from 1");
  EXPECT_CONTAINS(Failure({Text("num_devices", "")}), "is \"\"");
  EXPECT_CONTAINS(Failure({Text("num_devices", "4x")}), "is \"4x\"");
  EXPECT_CONTAINS(Failure({Text("num_devices", "99999999999999999999")}), "from 1 to 64");
  EXPECT_CONTAINS(Failure({Text("fast", "maybe")}), "true or false");
  EXPECT_CONTAINS(Failure({Int("fast", 2)}), "true or false");
  EXPECT_CONTAINS(Failure({Text("fraction", "much")}), "a number");
  PJRT_NamedValue real = Named("num_devices", PJRT_NamedValue_kFloat);
  real.float_value = 2.5f;
  EXPECT_CONTAINS(Failure({real}), "2.5");
  EXPECT_CONTAINS(Failure({Named("fast", PJRT_NamedValue_Type(9))}), "unknown type 9");
}

TEST(Options, TheEnvironmentIsTheDefault) {
  const GetEnv env = [](const char* name) -> const char* {
    return std::string(name) == PJRT_PLUGIN_ENV "_NUM_DEVICES" ? "2" : nullptr;
  };
  EXPECT_EQ(Parse({}, env)->options.Int("num_devices"), 2);
  EXPECT_EQ(Parse({Int("num_devices", 3)}, env)->options.Int("num_devices"), 3);
  const GetEnv wrong = [](const char* name) -> const char* {
    return std::string(name) == PJRT_PLUGIN_ENV "_FAST" ? "perhaps" : nullptr;
  };
  EXPECT_CONTAINS(Failure({}, wrong),
                  "environment variable " PJRT_PLUGIN_ENV "_FAST is \"perhaps\"");
}

TEST(Options, AllocatorsOfGpusHaveNoEffect) {
  PJRT_NamedValue preallocate = Named("preallocate", PJRT_NamedValue_kBool);
  preallocate.bool_value = false;
  PJRT_NamedValue fraction = Named("memory_fraction", PJRT_NamedValue_kFloat);
  fraction.float_value = 0.5F;
  EXPECT_TRUE(Parse({preallocate, fraction, Text("allocator", "bfc")}).ok());
  EXPECT_CONTAINS(Failure({Text("preallocate", "maybe")}), "\"maybe\"; give true or false");
  EXPECT_CONTAINS(Failure({Int("collective_memory_size", -1)}), "of at least 0");
  // A driver may have such an option of its own.
  constexpr backend::OptionSpec kOwn[] = {
      {.name = "memory_fraction", .help = "of memory", .default_value = 1.0}};
  const auto own = ParseOptions(std::vector<PJRT_NamedValue>{fraction}, kOwn, NoEnvironment);
  EXPECT_EQ(own->options.Double("memory_fraction"), 0.5);
}

// pitfall 79: the processes of a job cannot find each other, as the callbacks for it are not
// passed on
TEST(Options, JobsOfSeveralProcesses) {
  const auto options = Parse({Int("node_id", 1), Int("num_nodes", 2), Int("partition_index", 0)});
  EXPECT_EQ(options->process_index, 1);
  EXPECT_EQ(options->num_processes, 2);
  EXPECT_CONTAINS(Failure({Int("node_id", 2), Int("num_nodes", 2)}), "node_id must be smaller");
  EXPECT_CONTAINS(Failure({Int("num_nodes", 0)}), "from 1 to");
  EXPECT_CONTAINS(Failure({Int("num_nodes", (int64_t{1} << 32) + 1)}), "from 1 to 2147483647");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
