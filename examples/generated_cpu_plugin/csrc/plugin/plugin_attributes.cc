// PJRT_Plugin_Initialize and PJRT_Plugin_Attributes: what is asked before there is a client.

#include <vector>

#include "backend/driver.h"
#include "plugin/attributes.h"
#include "plugin/error.h"
#include "plugin/fork.h"
#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

std::vector<int64_t> List(const backend::Version& version) {
  return {version.begin(), version.end()};
}

// Frameworks write their programs for the versions named here, so that one plugin serves many of
// their releases.
std::vector<backend::Attribute> Attributes() {
  const backend::StablehloRange stablehlo = backend::StablehloVersions();
  return {
      {"xla_version", int64_t{2}},
      {"stablehlo_current_version", List(stablehlo.newest)},
      {"stablehlo_minimum_version", List(stablehlo.oldest)},
      {"sdy_current_version", std::vector<int64_t>{0, 0, 1}},
  };
}

}  // namespace

PJRT_Error* Layer::Plugin_Initialize(PJRT_Plugin_Initialize_Args*) {
  // Once a process, though a caller may ask more often: the first answer stands.
  static const Status* const initialized = [] {
    WatchForks();
    return new Status(backend::InitializePlugin());
  }();
  return MakeError(*initialized);
}

PJRT_Error* Layer::Plugin_Attributes(PJRT_Plugin_Attributes_Args* args) {
  static const NamedValues* const attributes =
      new NamedValues(Attributes());  // for ever: callers keep pointers
  args->attributes = attributes->data();
  args->num_attributes = attributes->size();
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::plugin
