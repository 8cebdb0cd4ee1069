#ifndef PLUGIN_DEVICE_H_
#define PLUGIN_DEVICE_H_

// Device and DeviceDescription: one device of a client and what is known of it. Both live as long
// as the client.

#include <vector>

#include "backend/device.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"
#include "plugin/attributes.h"
#include "plugin/handle.h"
#include "plugin/memory.h"

namespace PJRT_PLUGIN_NS::plugin {

struct Client;

struct DeviceDescription : Handle<Tag::kDeviceDescription> {
  explicit DeviceDescription(const backend::DeviceInfo& info)
      : info(info), attributes(DeviceAttributes(info.attributes)) {}

  const backend::DeviceInfo& info;
  const NamedValues attributes;
  std::vector<Memory*> memories;  // the default one first
};
PJRT_PLUGIN_HANDLE(PJRT_DeviceDescription, DeviceDescription)

struct Device : Handle<Tag::kDevice> {
  Device(Client* client, backend::Device* impl, bool addressable)
      : client(client), impl(impl), addressable(addressable), description(impl->info()) {}

  const std::vector<Memory*>& memories() const { return description.memories; }
  // The memory of that kind, or null.
  Memory* FindMemory(std::string_view kind) const;

  Client* const client;
  backend::Device* const impl;
  const bool addressable;
  DeviceDescription description;
};
PJRT_PLUGIN_HANDLE(PJRT_Device, Device)

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_DEVICE_H_
