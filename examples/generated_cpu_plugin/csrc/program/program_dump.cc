// Prints a program that a framework sent, as this plugin reads it: MLIR in generic form.
//
//   program_dump FILE               as read
//   program_dump --passes FILE      after the passes
//   program_dump --locations FILE   one line an op: name, types, source location

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "program/passes.h"
#include "program/read.h"
#include "program/verify.h"

namespace {

using PJRT_PLUGIN_NS::backend::Status;
using namespace PJRT_PLUGIN_NS::program;

void PrintLocations(const Block& block) {
  for (const auto& op : block.ops) {
    std::printf("%s %s\n", Signature(*op).c_str(), ToString(*op->location).c_str());
    for (const auto& region : op->regions) PrintLocations(*region);
  }
}

Status Dump(std::string_view option, std::string_view code) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(auto module, ReadProgram(code));
  if (option == "--passes") {
    PJRT_PLUGIN_RETURN_IF_ERROR(RunPasses(*module));
    PJRT_PLUGIN_RETURN_IF_ERROR(Verify(*module).Annotated("after the passes"));
  }
  if (option == "--locations") {
    for (const auto& function : module->functions) PrintLocations(function->body);
  } else {
    std::fputs(ToString(*module).c_str(), stdout);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view option = argc == 3 ? argv[1] : "";
  if (argc < 2 || argc > 3 || (argc == 3 && option != "--passes" && option != "--locations")) {
    std::fprintf(stderr, "usage: program_dump [--passes | --locations] FILE\n");
    return 2;
  }
  const char* path = argv[argc - 1];
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", path);
    return 2;
  }
  const std::string code{std::istreambuf_iterator<char>(file), {}};
  const Status status = Dump(option, code);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", path, std::string(status.message()).c_str());
  return 1;
}
