#include "plugin/mapped_memory.h"

#include <string>
#include <vector>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

#if PJRT_SCAFFOLD_HAS_PJRT_Client_DmaMap
std::string Map(const TestClient& client, void* data, size_t size) {
  auto args = Make<PJRT_Client_DmaMap_Args>();
  args.client = client.client;
  args.data = data;
  args.size = size;
  return Text(Api().PJRT_Client_DmaMap(&args));
}

std::string Unmap(const TestClient& client, void* data) {
  auto args = Make<PJRT_Client_DmaUnmap_Args>();
  args.client = client.client;
  args.data = data;
  return Text(Api().PJRT_Client_DmaUnmap(&args));
}

TEST(DmaMap, MapsAndUnmaps) {
  Fake::Reset({.can_map = true});
  TestClient client;
  std::vector<char> data(100);
  EXPECT_EQ(Map(client, data.data(), 50), "");
  EXPECT_EQ(Map(client, data.data() + 50, 50), "");  // a neighbour is no overlap
  EXPECT_EQ(Fake::Mapped(), 2);
  EXPECT_EQ(Unmap(client, data.data()), "");
  EXPECT_EQ(Map(client, data.data() + 10, 40), "");
  EXPECT_EQ(Unmap(client, data.data() + 10), "");
  EXPECT_EQ(Unmap(client, data.data() + 50), "");
  EXPECT_EQ(Fake::Mapped(), 0);
}

TEST(DmaMap, RefusesWhatNoDriverCanBeAsked) {
  Fake::Reset({.can_map = true});
  TestClient client;
  std::vector<char> data(100);
  EXPECT_CONTAINS(Map(client, nullptr, 10), "3: PJRT_Client_DmaMap: data is 0");
  EXPECT_CONTAINS(Map(client, data.data(), 0), "size 0");
  EXPECT_CONTAINS(Map(client, data.data(), SIZE_MAX), "3: ");
  EXPECT_EQ(Map(client, data.data() + 20, 20), "");
  for (int begin : {0, 10, 20, 30, 39}) {
    EXPECT_CONTAINS(Map(client, data.data() + begin, 21), "overlap");
  }
  EXPECT_CONTAINS(Unmap(client, data.data() + 21), "3: PJRT_Client_DmaUnmap");
  EXPECT_CONTAINS(Unmap(client, nullptr), "no mapped memory begins at data");
  EXPECT_EQ(Unmap(client, data.data() + 20), "");
  EXPECT_CONTAINS(Unmap(client, data.data() + 20), "3: ");  // twice
  EXPECT_EQ(Fake::Mapped(), 0);
}

TEST(DmaMap, EndsWithTheClient) {
  Fake::Reset({.can_map = true});
  char data[8];
  {
    TestClient client;
    EXPECT_EQ(Map(client, data, sizeof(data)), "");
    EXPECT_EQ(Fake::Mapped(), 1);
  }
  EXPECT_EQ(Fake::Mapped(), 0);
}

TEST(DmaMap, SaysWhenTheBackendCannot) {
  Fake::Reset();
  TestClient client;
  char data[8];
  EXPECT_CONTAINS(Map(client, data, sizeof(data)), "12: ");
  EXPECT_CONTAINS(Unmap(client, data), "3: ");
}
#endif

TEST(DmaMap, IsTestedWhereTheApiHasIt) {}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
