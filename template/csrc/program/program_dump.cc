// Prints a program that a framework sent, as this plugin reads it: MLIR in generic form.
//
//   program_dump FILE          as read
//   program_dump --locations FILE   one line an op: name, types, source location

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "program/read.h"

namespace {

using PJRT_PLUGIN_NS::program::Block;

void PrintLocations(const Block& block) {
  for (const auto& op : block.ops) {
    std::printf("%s %s\n", Signature(*op).c_str(), ToString(*op->location).c_str());
    for (const auto& region : op->regions) PrintLocations(*region);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool locations = argc == 3 && std::strcmp(argv[1], "--locations") == 0;
  if (argc != 2 && !locations) {
    std::fprintf(stderr, "usage: program_dump [--locations] FILE\n");
    return 2;
  }
  std::ifstream file(argv[argc - 1], std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", argv[argc - 1]);
    return 2;
  }
  const std::string code{std::istreambuf_iterator<char>(file), {}};
  auto module = PJRT_PLUGIN_NS::program::ReadProgram(code);
  if (!module.ok()) {
    std::fprintf(stderr, "%s: %s\n", argv[argc - 1],
                 std::string(module.status().message()).c_str());
    return 1;
  }
  if (locations) {
    for (const auto& function : (*module)->functions) PrintLocations(function->body);
  } else {
    std::fputs(ToString(**module).c_str(), stdout);
  }
  return 0;
}
