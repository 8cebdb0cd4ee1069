#ifndef PLUGIN_XSPACE_TEST_UTIL_H_
#define PLUGIN_XSPACE_TEST_UTIL_H_

// Reads an XSpace message for the tests, with the names in place of ids.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::plugin {

struct ReadEvent {
  std::string name;
  int64_t offset_ps = 0;
  int64_t duration_ps = 0;
  std::map<std::string, std::string> stats;  // of the event and of its metadata
};
struct ReadLine {
  int64_t id = 0;
  std::string name;
  int64_t timestamp_ns = 0;
  std::vector<ReadEvent> events;
};
struct ReadPlane {
  int64_t id = 0;
  std::string name;
  std::vector<ReadLine> lines;
  std::map<std::string, std::string> stats;

  // Null when there is none.
  const ReadLine* Find(std::string_view line) const;
};
struct ReadSpace {
  std::vector<ReadPlane> planes;
  std::vector<std::string> warnings;

  // Null when there is none.
  const ReadPlane* Find(std::string_view plane) const;
};

ReadSpace ParseXSpace(std::string_view bytes);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_XSPACE_TEST_UTIL_H_
