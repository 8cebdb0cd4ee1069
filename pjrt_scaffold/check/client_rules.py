"""The client, its devices and their memories: what jaxlib asks when it makes a backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pjrt_scaffold.check.model import NotApplicable, check
from pjrt_scaffold.check.plugin import PjrtError, Plugin, addresses, text

_UNIMPLEMENTED = 12
_ATTRIBUTE_TYPES = (0, 1, 2)  # string, int64, list of int64


@check("PJ401")
def initialises(plugin: Plugin) -> Iterator[str]:
    """The plugin can be initialised."""
    plugin.call("PJRT_Plugin_Initialize")
    yield from ()


@check("PJ402")
def attributes(plugin: Plugin) -> Iterator[str]:
    """The plugin tells its attributes, or that there are none."""
    args = plugin.call("PJRT_Plugin_Attributes")
    if args.num_attributes and not args.attributes:
        yield f"there are {args.num_attributes} attributes at a null pointer"


@check("PJ403")
def has_a_client(plugin: Plugin) -> Iterator[str]:
    """A client can be made."""
    if not plugin.client:
        yield "PJRT_Client_Create succeeded with a null client"


@check("PJ404")
def platform_name(plugin: Plugin) -> Iterator[str]:
    """The platform has a name in lower case."""
    args = plugin.call("PJRT_Client_PlatformName", client=plugin.client)
    name = text(args.platform_name, args.platform_name_size).decode(errors="replace")
    if not name:
        yield "the platform has no name"
    elif name != name.lower():
        yield f"the platform's name is {name}, and not {name.lower()}"


@check("PJ405")
def platform_version(plugin: Plugin) -> Iterator[str]:
    """The platform has a version."""
    args = plugin.call("PJRT_Client_PlatformVersion", client=plugin.client)
    if not text(args.platform_version, args.platform_version_size):
        yield "the platform's version is empty"


@check("PJ406")
def client_again(plugin: Plugin) -> Iterator[str]:
    """A client can be destroyed, and another one made."""
    plugin.call("PJRT_Client_Destroy", client=plugin.client)
    again = plugin.call("PJRT_Client_Create").client
    plugin.call("PJRT_Client_Destroy", client=again)
    yield from ()


@check("PJ407")
def ends_with_a_client(plugin: Plugin) -> Iterator[str]:
    """The child of this rule ends as programs do, with a client that nobody destroyed."""
    plugin.call("PJRT_Client_Devices", client=plugin.client)
    yield from ()


@check("PJ411")
def has_devices(plugin: Plugin) -> Iterator[str]:
    """There is a device to run on, and no null among them."""
    everything, ours = plugin.devices(), plugin.addressable_devices()
    if not ours:
        yield "the client has no addressable device"
    if 0 in everything or 0 in ours:
        yield "there is a null pointer in a list of devices"


@check("PJ412")
def device_ids(plugin: Plugin) -> Iterator[str]:
    """Each device has an id of its own."""
    for number, count in Counter(map(plugin.id, plugin.devices())).items():
        if count > 1:
            yield f"{count} devices have the id {number}"
        if number < 0:
            yield f"a device has the id {number}"


@check("PJ413")
def addressable(plugin: Plugin) -> Iterator[str]:
    """The lists of devices and what each device says agree."""
    everything, ours = plugin.devices(), plugin.addressable_devices()
    for device in ours:
        if device not in everything:
            yield f"device {plugin.id(device)} is addressable and not in the list of all devices"
    for device in everything:
        says = plugin.call("PJRT_Device_IsAddressable", device=device).is_addressable
        if bool(says) != (device in ours):
            listed = "among" if device in ours else "not among"
            yield f"device {plugin.id(device)} says {bool(says)} and is {listed} the addressable"


@check("PJ414")
def lookup(plugin: Plugin) -> Iterator[str]:
    """Each device is found by its id."""
    for device in plugin.devices():
        number = plugin.id(device)
        found = plugin.call("PJRT_Client_LookupDevice", client=plugin.client, id=number).device
        if found != device:
            yield f"looking up the id {number} finds another device"


@check("PJ415")
def description(plugin: Plugin) -> Iterator[str]:
    """Each device has a kind and texts to print."""
    for device in plugin.devices():
        of = {"device_description": plugin.description(device)}
        kind = plugin.call("PJRT_DeviceDescription_Kind", **of)
        if not text(kind.device_kind, kind.device_kind_size):
            yield f"device {plugin.id(device)} has no kind"
        shown = plugin.call("PJRT_DeviceDescription_ToString", **of)
        if not text(shown.to_string, shown.to_string_size):
            yield f"device {plugin.id(device)} has no text for PJRT_DeviceDescription_ToString"
        debug = plugin.call("PJRT_DeviceDescription_DebugString", **of)
        if not text(debug.debug_string, debug.debug_string_size):
            yield f"device {plugin.id(device)} has no text for PJRT_DeviceDescription_DebugString"


@check("PJ416")
def device_attributes(plugin: Plugin) -> Iterator[str]:
    """Attributes of devices have types that jaxlib can turn into Python."""
    value = plugin.bindings.struct("PJRT_NamedValue")
    for device in plugin.devices():
        of = plugin.description(device)
        args = plugin.call("PJRT_DeviceDescription_Attributes", device_description=of)
        if not args.num_attributes:
            continue
        for one in (value * args.num_attributes).from_address(args.attributes):
            if one.type not in _ATTRIBUTE_TYPES:
                name = text(one.name, one.name_size).decode(errors="replace")
                yield f"the attribute {name} of device {plugin.id(device)} has type {one.type}"


@check("PJ417")
def same_process(plugin: Plugin) -> Iterator[str]:
    """Addressable devices belong to the process that the client says it is."""
    try:
        ours = plugin.call("PJRT_Client_ProcessIndex", client=plugin.client).process_index
    except PjrtError as error:
        if error.code != _UNIMPLEMENTED:
            raise
        raise NotApplicable(str(error)) from error
    for device in plugin.addressable_devices():
        of = plugin.description(device)
        said = plugin.call("PJRT_DeviceDescription_ProcessIndex", device_description=of)
        if said.process_index != ours:
            yield (
                f"device {plugin.id(device)} is of process {said.process_index}, and the client "
                f"of {ours}"
            )


@check("PJ421")
def default_memory(plugin: Plugin) -> Iterator[str]:
    """Each addressable device has a default memory, which is one of its memories."""
    for device in plugin.addressable_devices():
        memory = plugin.call("PJRT_Device_DefaultMemory", device=device).memory
        if not memory:
            yield f"the default memory of device {plugin.id(device)} is null"
        elif memory not in plugin.memories(device):
            yield f"the default memory of device {plugin.id(device)} is not among its memories"


@check("PJ422")
def memory_kind(plugin: Plugin) -> Iterator[str]:
    """Each memory has a kind."""
    for memory in _all_memories(plugin):
        args = plugin.call("PJRT_Memory_Kind", memory=memory)
        if not text(args.kind, args.kind_size):
            yield "a memory has no kind"


@check("PJ423")
def memory_devices(plugin: Plugin) -> Iterator[str]:
    """A memory names the devices that name it."""
    for device in plugin.addressable_devices():
        for memory in plugin.memories(device):
            args = plugin.call("PJRT_Memory_AddressableByDevices", memory=memory)
            if device not in addresses(args.devices, args.num_devices):
                yield f"a memory of device {plugin.id(device)} does not name that device"


def _all_memories(plugin: Plugin) -> list[int]:
    """The memories of all addressable devices, each once."""
    found = [memory for d in plugin.addressable_devices() for memory in plugin.memories(d)]
    return list(dict.fromkeys(found))
