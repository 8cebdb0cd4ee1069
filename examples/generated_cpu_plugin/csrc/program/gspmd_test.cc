#include "program/gspmd.h"

#include <string>

#include "program/print_attributes.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// The sharding as Shardy writes it, or why there is none.
std::string Parsed(std::string_view text, size_t rank) {
  auto sharding = ParseGspmdSharding(text, rank);
  return sharding.ok() ? ToString(Attribute{*sharding}) : std::string(sharding.status().message());
}

TEST(Gspmd, Reads) {
  EXPECT_EQ(Parsed("{replicated}", 2), "#sdy.sharding<mesh<[]>, [{}, {}]>");
  EXPECT_EQ(Parsed("{manual}", 1), "#sdy.sharding<mesh<[]>, [{}]>");
  EXPECT_EQ(Parsed("{maximal device=0}", 0), "#sdy.sharding<mesh<[]>, []>");
  EXPECT_EQ(Parsed("{devices=[4,1]<=[4]}", 2),
            "#sdy.sharding<mesh<[\"axis_0\"=4]>, [{\"axis_0\"}, {}]>");
  // Copies on the devices of the last tile dimension.
  EXPECT_EQ(Parsed("{devices=[1,2,2]<=[4] last_tile_dim_replicate}", 2),
            "#sdy.sharding<mesh<[\"axis_1\"=2, \"axis_2\"=2]>, [{}, {\"axis_1\"}]>");
  EXPECT_EQ(Parsed("{devices=[2,1,2]<=[4] last_tile_dims={manual}}", 2),
            "#sdy.sharding<mesh<[\"axis_0\"=2, \"axis_2\"=2]>, [{\"axis_0\"}, {}]>");
}

TEST(Gspmd, ReadsTheOrderOfDevices) {
  const char* const other =
      "#sdy.sharding<mesh<[\"axis_0\"=2, \"axis_1\"=2], device_ids=[0, 2, 1, 3]>, [{\"axis_0\"}, "
      "{\"axis_1\"}]>";
  EXPECT_EQ(Parsed("{devices=[2,2]<=[2,2]T(1,0)}", 2), other);
  EXPECT_EQ(Parsed("{devices=[2,2]0,2,1,3}", 2), other);
  auto sharding = ParseGspmdSharding("{devices=[12]<=[2,3,2]T(2,0,1)}", 1);
  ASSERT_TRUE(sharding.ok());
  EXPECT_TRUE((sharding->inlined_mesh.device_ids ==
               std::vector<int64_t>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
}

TEST(Gspmd, RefusesOtherTextAndQuotesIt) {
  for (const char* text :
       {"", "{", "{devices=[2]}", "{devices=[2,2]<=[4]", "{devices=[3,1]<=[4]}",
        "{devices=[2,2]<=[2,2]T(1,1)}", "{devices=[2,2]<=[2,2]T(5,0)}", "{devices=[2]<=[2]}",
        "{devices=[0,1]<=[0]}", "{devices=[-2,-2]<=[4]}", "{{replicated}, {replicated}}", "{tiled}",
        "{devices=[9999999999,9999999999]<=[9999999999,9999999999]}"})
    EXPECT_CONTAINS(Parsed(text, 2), std::string("'") + text + "' of a tensor of rank 2");
}

TEST(Gspmd, Writes) {
  EXPECT_EQ(GspmdText({}, {}), "{replicated}");
  EXPECT_EQ(GspmdText({1, 1}, {0, 1, 2, 3}), "{replicated}");
  EXPECT_EQ(GspmdText({4, 1}, {0, 1, 2, 3}), "{devices=[4,1]0,1,2,3}");
  EXPECT_EQ(GspmdText({1, 2}, {0, 2, 1, 3}), "{devices=[1,2,2]0,2,1,3 last_tile_dim_replicate}");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
