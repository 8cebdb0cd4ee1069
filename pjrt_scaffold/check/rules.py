"""The rules, as data: what a plugin must keep, why, what breaks when it does not, how to mend it.

An id is for ever. Its hundreds digit is the family's, and its check has the same id.
"""

from __future__ import annotations

from pjrt_scaffold.check.model import Rule

NOISE = "PJ104"
"""The rule about what the processes of all checks print."""

PROCESS_END = ("PJ105", "PJ407")
"""The rules about how a process ends; those of other checks are not let end by themselves."""

_LOAD = (
    Rule(
        "PJ101",
        "load",
        "The library loads",
        "A framework opens the library by its path, with the machine's loader.",
        "JAX raises at the import of the plugin; TensorFlow and torch_xla do at the start.",
        "Build for this machine, link what is needed statically or pack it beside the library with "
        "an RPATH of $ORIGIN, and look at the output of ldd.",
    ),
    Rule(
        "PJ102",
        "load",
        "The library exports GetPjrtApi",
        "It is the only symbol that a framework looks up.",
        "JAX raises: the symbol GetPjrtApi is not found.",
        'Declare it extern "C" with default visibility, and keep it in the version script.',
        ("PJ101",),
    ),
    Rule(
        "PJ103",
        "load",
        "GetPjrtApi returns a table",
        "Whatever it returns is read at once, before anything could report an error.",
        "Every framework dies with SIGSEGV.",
        "Return the address of a static table. What can fail belongs into PJRT_Plugin_Initialize.",
        ("PJ102",),
    ),
    Rule(
        NOISE,
        "load",
        "Nothing is printed to stdout",
        "stdout belongs to the program that uses the plugin.",
        "Scripts that read the output of a JAX program read the plugin's words with it.",
        "Log to stderr, and only when a variable of the environment asks for it.",
        ("PJ103",),
    ),
    Rule(
        "PJ105",
        "load",
        "A process that loaded the library ends as it should",
        "JAX loads every plugin that is installed, also in programs that use another device.",
        "Every JAX program on the machine ends in a crash or a hang, after its work is done.",
        "Register nothing with atexit, and start no threads before there is a client.",
        ("PJ103",),
    ),
)

_ABI = (
    Rule(
        "PJ201",
        "abi",
        "The major version is 0",
        "Frameworks accept their own major version only, and there is one so far.",
        "JAX refuses the plugin when it is initialised.",
        "Set pjrt_api_version.major_version to PJRT_API_MAJOR.",
        ("PJ103",),
    ),
    Rule(
        "PJ202",
        "abi",
        "The minor version is 29 or newer",
        "jaxlib refuses what is older.",
        "JAX raises INVALID_ARGUMENT when the plugin is initialised.",
        "Set pjrt_api_version.minor_version to PJRT_API_MINOR of the header that you build with.",
        ("PJ103",),
    ),
    Rule(
        "PJ203",
        "abi",
        "The table is as long as its version says",
        "Frameworks learn from the minor version which functions there are, not from struct_size.",
        "jaxlib calls what lies behind the table: SIGSEGV.",
        "Set struct_size to PJRT_Api_STRUCT_SIZE, and take size and version from the same header.",
        ("PJ201",),
    ),
    Rule(
        "PJ204",
        "abi",
        "The table has no null where nobody looks",
        "jaxlib looks for null in nine entries. All others it calls.",
        "The first call of the function is a SIGSEGV.",
        "Fill the entry with a function that returns an error with the code UNIMPLEMENTED, or with "
        "what `pjrt-scaffold registry show FUNCTION` advises.",
        ("PJ201",),
    ),
    Rule(
        "PJ205",
        "abi",
        "The table's entries are functions",
        "An entry that was never set, or a table of another layout, holds anything.",
        "The first call of the function is a SIGSEGV, or runs something else.",
        "Build the table in one place from the header's member names, and zero it first.",
        ("PJ201",),
    ),
    Rule(
        "PJ206",
        "abi",
        "The chain of extensions ends",
        "Frameworks follow `next` until it is null, at each look-up.",
        "A look-up of an extension that the plugin lacks never returns.",
        "Set `next` of the last extension to null, and link each extension once.",
        ("PJ201",),
    ),
    Rule(
        "PJ207",
        "abi",
        "Each extension declares its size",
        "Members of an extension are used as far as its struct_size reaches.",
        "A framework that looks at the size takes the extension for one without functions.",
        "Set struct_size to the extension's own X_STRUCT_SIZE.",
        ("PJ206",),
    ),
    Rule(
        "PJ208",
        "abi",
        "Arguments of a newer framework are accepted",
        "Structs grow at their end. A newer framework sets struct_size to what it knows.",
        "The plugin works with the jaxlib that it was built with, and not with the next one.",
        "Compare with >=, not ==, and ignore what lies behind the members that you know.",
        ("PJ402", "PJ403", "PJ411"),
    ),
    Rule(
        "PJ209",
        "abi",
        "Nothing is written behind the arguments",
        "The struct lies on the caller's stack, with other variables behind it.",
        "The caller's variables change: crashes in places that have nothing to do with the plugin.",
        "Write members that the caller's struct_size covers and no others.",
        ("PJ403", "PJ411"),
    ),
)

_ERRORS = (
    Rule(
        "PJ301",
        "errors",
        "A device that does not exist is an error",
        "PJRT_Client_LookupDevice has no other way to say so.",
        "JAX takes the null or the wrong device and dies later.",
        "Answer with INVALID_ARGUMENT or NOT_FOUND, and name the id.",
        ("PJ403",),
    ),
    Rule(
        "PJ302",
        "errors",
        "An error has a code",
        "Frameworks turn the code into an exception, and UNIMPLEMENTED into another way.",
        "Frameworks make a status of a code that they do not know, and nobody says what follows.",
        "Give each error one of the constants of PJRT_Error_Code.",
        ("PJ301",),
    ),
    Rule(
        "PJ303",
        "errors",
        "An error has a message in UTF-8",
        "It is all that the user gets to see.",
        "JAX shows an empty exception, or fails to make a Python string of the message.",
        "Say what was asked for, what was seen, and what to do.",
        ("PJ301",),
    ),
    Rule(
        "PJ304",
        "errors",
        "The message lives as long as its error",
        "Frameworks keep the pointer as long as the error, and have several errors at once.",
        "JAX shows the message of another error, or reads memory that is free.",
        "Keep the text in the error itself, and not in a static buffer.",
        ("PJ301",),
    ),
)

_CLIENT = (
    Rule(
        "PJ401",
        "client",
        "PJRT_Plugin_Initialize succeeds",
        "It is the first call of a framework, once in a process.",
        "JAX raises: the backend cannot be initialised.",
        "Return null when there is nothing to do.",
        ("PJ203", "PJ204", "PJ205"),
    ),
    Rule(
        "PJ402",
        "client",
        "PJRT_Plugin_Attributes succeeds",
        "jaxlib has no way to go on without.",
        "JAX aborts the process, whatever the error says.",
        "Set num_attributes to 0 when there are none.",
        ("PJ401",),
    ),
    Rule(
        "PJ403",
        "client",
        "A client can be made",
        "All else needs one.",
        "JAX raises: the backend cannot be initialised.",
        "Read the message: mostly the device or its driver is missing on this machine.",
        ("PJ401",),
    ),
    Rule(
        "PJ404",
        "client",
        "The platform has a name in lower case",
        "JAX compares it with what users write into JAX_PLATFORMS, and registers lowerings by it.",
        "JAX aborts on an error; frameworks look for names in lower case, and find nothing.",
        "Return a name such as `mychip` that lives as long as the client.",
        ("PJ403",),
    ),
    Rule(
        "PJ405",
        "client",
        "The platform has a version",
        "It is part of the keys of JAX's persistent compilation cache.",
        "JAX aborts on an error; without a text, an old version's programs come out of the cache.",
        "Return the plugin's name and version.",
        ("PJ403",),
    ),
    Rule(
        "PJ406",
        "client",
        "A client can be destroyed and made again",
        "jax.extend.backend.clear_backends and tests do so.",
        "The second client fails or crashes, or the program dies when it ends.",
        "Keep the state in the client and not in statics, and free all of it.",
        ("PJ403",),
    ),
    Rule(
        "PJ407",
        "client",
        "A process ends as it should while a client is alive",
        "Programs end with the plugin's threads running, and statics are destroyed below them.",
        "Every program ends in a crash or a hang, after its work is done.",
        "Leave statics that threads use undestroyed, and let nobody wait for threads at exit.",
        ("PJ105", "PJ403"),
    ),
)

_DEVICES = (
    Rule(
        "PJ411",
        "devices",
        "There is a device",
        "A client without addressable devices runs nothing.",
        "JAX raises that there is no device, or dies on the null pointer.",
        "Let PJRT_Client_Create fail with a message when there is no hardware.",
        ("PJ403",),
    ),
    Rule(
        "PJ412",
        "devices",
        "Each device has an id of its own",
        "Device assignments and shardings name devices by id.",
        "JAX places arrays on the wrong device; negative ids are taken for none.",
        "Count from 0, over all processes.",
        ("PJ411",),
    ),
    Rule(
        "PJ413",
        "devices",
        "Addressable devices are among all devices and say so",
        "jaxlib builds both lists and the flag by separate calls and trusts that they agree.",
        "A framework meets a device that it has not seen, or sends to one that is not here.",
        "Make both lists from one, and return the same pointers.",
        ("PJ412",),
    ),
    Rule(
        "PJ414",
        "devices",
        "A device is found by its id",
        "jaxlib looks each device up when it makes the client.",
        "JAX raises that the backend cannot be initialised, or confuses devices.",
        "Return the pointer that is in the list of devices.",
        ("PJ412",),
    ),
    Rule(
        "PJ415",
        "devices",
        "A device has a kind and texts",
        "jaxlib reads kind, ToString and DebugString of each device when it makes the client.",
        "JAX aborts on an error; an empty kind makes caches of different devices the same.",
        "Return texts that live as long as the device.",
        ("PJ412",),
    ),
    Rule(
        "PJ416",
        "devices",
        "Attributes of a device are texts, integers or lists of integers",
        "jaxlib turns no other types into Python.",
        "Nobody says what becomes of the attribute, or of the client.",
        "Use PJRT_NamedValue_kString, kInt64 or kInt64List, or have no attributes.",
        ("PJ412",),
    ),
    Rule(
        "PJ417",
        "devices",
        "Addressable devices belong to the client's process",
        "JAX decides by the process index what is local.",
        "Who compares the two takes the plugin's own devices for those of another process.",
        "Return the same index for the client and each addressable device: 0 in a single process.",
        ("PJ412",),
    ),
)

_MEMORIES = (
    Rule(
        "PJ421",
        "memories",
        "A device has a default memory among its memories",
        "Each array that names no memory goes there.",
        "jax.numpy.ones fails: the device has no memory.",
        "Return one of the pointers of PJRT_Device_AddressableMemories.",
        ("PJ412",),
    ),
    Rule(
        "PJ422",
        "memories",
        "A memory has a kind",
        "jaxlib names memories by kind, and shardings do too.",
        "JAX aborts on an error; an empty kind is taken for none.",
        "Return `device` for the default memory; `pinned_host` and `unpinned_host` are the host's.",
        ("PJ421",),
    ),
    Rule(
        "PJ423",
        "memories",
        "A memory names its devices",
        "jaxlib asks each memory when it makes the client.",
        "JAX aborts on an error, and finds no device for arrays in the memory.",
        "Let PJRT_Memory_AddressableByDevices and PJRT_Device_AddressableMemories agree.",
        ("PJ421",),
    ),
)

RULES = _LOAD + _ABI + _ERRORS + _CLIENT + _DEVICES + _MEMORIES
BY_ID = {rule.id: rule for rule in RULES}
