"""The PJRT C API as typed objects: the model behind every tool of this package.

`build` makes the whole model from the registry's JSON in one pure step. Objects refer to each other
by name. `Registry.at(minor)` answers with the API as it was at one version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol, TypeVar

Json = Mapping[str, Any]


class UnknownVersionError(ValueError):
    """The registry does not hold this API version; the text lists the range it holds."""


class _Dated(Protocol):
    @property
    def since(self) -> int: ...
    @property
    def until(self) -> int | None: ...


_T = TypeVar("_T", bound=_Dated)


@dataclass(frozen=True, slots=True)
class History:
    """A value that changed between versions, as (first minor, value) pairs in ascending order."""

    steps: tuple[tuple[int, int | None], ...]  # ((54, 24), (71, 32))

    def at(self, minor: int) -> int | None:
        """The value in force at `minor`; None before the first step."""
        value = None
        for since, step in self.steps:
            if since <= minor:
                value = step
        return value


@dataclass(frozen=True, slots=True)
class Type:
    """A C type, decomposed. `PJRT_Device* const*` has base PJRT_Device and pointer depth 2."""

    base: str  # "PJRT_Device"; "function" for a function pointer written out
    const: bool = False  # of the base
    pointer: int = 0
    array: int | None = None  # elements


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a struct, or of the anonymous union that `union` lists (then name is empty)."""

    name: str  # "num_devices"
    decl: str  # "size_t num_devices"
    type: Type
    offset: int  # bytes, LP64
    size: int  # bytes, LP64
    since: int  # 54
    union: tuple[Field, ...] = ()

    @property
    def end(self) -> int:
        """First byte after the member."""
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class Layout:
    """The members of a struct from one version until the next layout; mostly there is one."""

    since: int  # 54
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct. `header` is empty for the main header, else the name of an extension."""

    name: str  # "PJRT_Client_Create_Args"
    header: str  # "layouts"
    since: int
    until: int | None
    layouts: tuple[Layout, ...]
    struct_size: History  # what X_STRUCT_SIZE declares; None: there is no such constant

    def fields(self, minor: int) -> tuple[Field, ...]:
        """The members at `minor`, in order."""
        current = [layout for layout in self.layouts if layout.since <= minor]
        return tuple(_cut(f, minor) for f in current[-1].fields if f.since <= minor)

    def end(self, minor: int) -> int:
        """First byte after the last member at `minor`."""
        return max(f.end for f in self.fields(minor))


@dataclass(frozen=True, slots=True)
class EnumValue:
    """One constant of an enum."""

    name: str  # "PJRT_Error_Code_UNIMPLEMENTED"
    value: int  # 12
    since: int
    until: int | None


@dataclass(frozen=True, slots=True)
class Enum:
    """An enum with its constants in header order."""

    name: str  # "PJRT_Error_Code"
    header: str
    since: int
    until: int | None
    values: tuple[EnumValue, ...]


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a callback."""

    name: str  # "error"
    decl: str  # "PJRT_Error* error"


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function or callback took before it changed."""

    until: int  # the first minor with the next one
    returns: str
    args: str  # of a function; empty for a callback
    params: tuple[Param, ...]


@dataclass(frozen=True, slots=True)
class Callback:
    """A pointer-to-function type."""

    name: str  # "PJRT_Event_OnReadyCallback"
    header: str
    since: int
    until: int | None
    returns: str  # "void"
    params: tuple[Param, ...]
    was: tuple[Signature, ...] = ()  # oldest first


@dataclass(frozen=True, slots=True)
class Note:
    """What people wrote about a function (annotations.json)."""

    level: str = "optional"  # load, run, common, optional
    default: str = "unimplemented"  # unimplemented, null, success
    stopgap: bool = False  # the success keeps frameworks going but is not true
    requires: tuple[str, ...] = ()  # members that must not be null
    error_is_fatal: bool = False  # the framework aborts on any error of it
    called: str = ""  # when frameworks call it
    advice: str = ""  # the best answer of a plugin that does not implement it


@dataclass(frozen=True, slots=True)
class VersionNote:
    """What a version changed beyond appending, and what a plugin must do (annotations.json)."""

    since: int  # 105
    kind: str  # meaning, layout, size (a declared one), version (the number itself), source
    about: tuple[str, ...]  # ("PJRT_Memory",), ("PJRT_ExecuteOptions.context",)
    change: str
    action: str


@dataclass(frozen=True, slots=True)
class ExtensionNote:
    """What people wrote about an extension (annotations.json)."""

    audience: str  # whose plugins frameworks ask for it: any, gpu, tpu, none
    without: str  # what happens when a plugin lacks it


@dataclass(frozen=True, slots=True)
class Alias:
    """A name that was replaced by another with the same binary form."""

    name: str  # "PJRT_Megascale_MultiSliceConfig"
    now: str  # "PJRT_MultiSlice_Config"
    until: int  # the first minor with the new name


@dataclass(frozen=True, slots=True)
class Function:
    """An entry of the call table, or a function of an extension (then `slots` is empty)."""

    name: str  # "PJRT_Client_Create"
    header: str
    since: int
    until: int | None
    returns: str  # "PJRT_Error*"
    args: str  # "PJRT_Client_Create_Args"
    params: tuple[Param, ...]
    slots: History  # index in the call table
    note: Note | None
    was: tuple[Signature, ...] = ()  # oldest first

    @property
    def short(self) -> str:
        """The name without its prefix, as plugin code writes it: `Client_Create`."""
        return self.name.removeprefix("PJRT_")


@dataclass(frozen=True, slots=True)
class Opaque:
    """A type that the API only points to."""

    name: str  # "PJRT_Client"
    header: str
    since: int
    until: int | None


@dataclass(frozen=True, slots=True)
class Synonym:
    """A second name of a type."""

    name: str  # "PJRT_FFI"
    header: str
    since: int
    until: int | None
    type: str  # "PJRT_FFI_Extension"


@dataclass(frozen=True, slots=True)
class Constant:
    """A numeric macro, the version of an extension."""

    name: str  # "PJRT_API_LAYOUTS_EXTENSION_VERSION"
    header: str
    since: int
    until: int | None
    values: History


@dataclass(frozen=True, slots=True)
class Api:
    """One version of the API. Functions stand in slot order, all else in header order."""

    minor: int
    functions: tuple[Function, ...]
    extension_functions: tuple[Function, ...]
    structs: Mapping[str, Struct]
    enums: Mapping[str, Enum]
    callbacks: Mapping[str, Callback]
    opaque: Mapping[str, Opaque]
    constants: Mapping[str, Constant]
    synonyms: Mapping[str, Synonym]


@dataclass(frozen=True, slots=True)
class Registry:
    """Every version of the API."""

    major: int
    minors: tuple[int, ...]
    api_struct_size: History  # what PJRT_Api_STRUCT_SIZE declares
    functions: tuple[Function, ...]
    structs: tuple[Struct, ...]
    enums: tuple[Enum, ...]
    callbacks: tuple[Callback, ...]
    opaque: tuple[Opaque, ...]
    constants: tuple[Constant, ...]
    synonyms: tuple[Synonym, ...]
    notes: tuple[VersionNote, ...] = ()  # by version
    aliases: tuple[Alias, ...] = ()
    extensions: Mapping[str, ExtensionNote] = field(default_factory=dict)  # by header

    def at(self, minor: int) -> Api:
        """The API at version 0.`minor`.

        Raises:
            UnknownVersionError: the registry does not hold that version.
        """
        if minor not in self.minors:
            raise UnknownVersionError(
                f"API version 0.{minor} is not in the registry, which holds 0.{self.minors[0]} to "
                f"0.{self.minors[-1]}"
            )
        functions = [_signed(f, minor) for f in _alive(self.functions, minor)]
        table = [f for f in functions if f.slots.at(minor) is not None]
        return Api(
            minor=minor,
            functions=tuple(sorted(table, key=lambda f: f.slots.at(minor) or 0)),
            extension_functions=tuple(f for f in functions if f.slots.at(minor) is None),
            structs={s.name: s for s in _alive(self.structs, minor)},
            enums={
                e.name: replace(e, values=_alive(e.values, minor))
                for e in _alive(self.enums, minor)
            },
            callbacks={c.name: _signed_callback(c, minor) for c in _alive(self.callbacks, minor)},
            opaque={o.name: o for o in _alive(self.opaque, minor)},
            constants={c.name: c for c in _alive(self.constants, minor)},
            synonyms={s.name: s for s in _alive(self.synonyms, minor)},
        )


def build(abi: Json, annotations: Json) -> Registry:
    """Make the model from the data of abi.json and annotations.json."""
    notes = annotations["functions"]
    return Registry(
        major=abi["major"],
        minors=tuple(abi["minors"]),
        api_struct_size=_history(abi["api_struct_size"]),
        functions=tuple(
            Function(
                **_common(f),
                returns=f["returns"],
                args=f["args"],
                params=_params(f),
                slots=_history(f.get("slots", [])),
                note=_note(notes[f["name"]]) if f["name"] in notes else None,
                was=_was(f),
            )
            for f in abi["functions"]
        ),
        structs=tuple(_struct(s) for s in abi["structs"]),
        enums=tuple(
            Enum(
                **_common(e),
                values=tuple(
                    EnumValue(v["name"], v["value"], v["since"], v.get("until"))
                    for v in e["values"]
                ),
            )
            for e in abi["enums"]
        ),
        callbacks=tuple(
            Callback(**_common(c), returns=c["returns"], params=_params(c), was=_was(c))
            for c in abi["callbacks"]
        ),
        opaque=tuple(Opaque(**_common(o)) for o in abi["opaque"]),
        constants=tuple(
            Constant(**_common(c), values=_history(c["values"])) for c in abi["constants"]
        ),
        synonyms=tuple(Synonym(**_common(s), type=s["type"]) for s in abi["synonyms"]),
        notes=tuple(
            VersionNote(int(since), n["kind"], tuple(n["about"]), n["change"], n["action"])
            for since, notes in annotations.get("versions", {}).items()
            for n in notes
        ),
        aliases=tuple(
            Alias(name, a["now"], a["until"]) for name, a in annotations.get("aliases", {}).items()
        ),
        extensions={
            name: ExtensionNote(one["for"], one["without"])
            for name, one in annotations.get("extensions", {}).items()
        },
    )


def holes(minors: Iterable[int]) -> list[str]:
    """The versions that are missing from ascending ones, a sentence each."""
    return [
        f"0.{one + 1} is missing: 0.{following} comes after 0.{one}"
        for one, following in pairwise(minors)
        if following != one + 1
    ]


def _common(item: Json) -> dict[str, Any]:
    return {
        "name": item["name"],
        "header": item["header"],
        "since": item["since"],
        "until": item.get("until"),
    }


def _history(steps: Iterable[Any]) -> History:
    return History(tuple((since, value) for since, value in steps))


def _params(item: Json) -> tuple[Param, ...]:
    return tuple(Param(p["name"], p["decl"]) for p in item["params"])


def _was(item: Json) -> tuple[Signature, ...]:
    return tuple(
        Signature(one["until"], one["returns"], one.get("args", ""), _params(one))
        for one in item.get("was", ())
    )


def _signed(function: Function, minor: int) -> Function:
    """The function with the signature that it had at `minor`."""
    for old in function.was:
        if minor < old.until:
            return replace(function, returns=old.returns, args=old.args, params=old.params)
    return function


def _signed_callback(callback: Callback, minor: int) -> Callback:
    for old in callback.was:
        if minor < old.until:
            return replace(callback, returns=old.returns, params=old.params)
    return callback


def _note(note: Json) -> Note:
    known = {key: value for key, value in note.items() if key in Note.__dataclass_fields__}
    return Note(**{**known, "requires": tuple(note.get("requires", ()))})


def _struct(item: Json) -> Struct:
    layouts = tuple(
        Layout(one["since"], tuple(_field(f, one["since"]) for f in one["fields"]))
        for one in item["layouts"]
    )
    return Struct(**_common(item), layouts=layouts, struct_size=_history(item["struct_size"]))


def _field(item: Json, since: int) -> Field:
    kind = Type(
        base=item.get("type", "union"),
        const=item.get("const", False),
        pointer=item.get("pointer", 0),
        array=item.get("array"),
    )
    return Field(
        name=item["name"],
        decl=item.get("decl", ""),
        type=kind,
        offset=item["offset"],
        size=item["size"],
        since=item.get("since", since),
        union=tuple(_field(m, since) for m in item.get("union", ())),
    )


def _cut(field: Field, minor: int) -> Field:
    return replace(field, union=tuple(m for m in field.union if m.since <= minor))


def _alive(items: Iterable[_T], minor: int) -> tuple[_T, ...]:
    return tuple(i for i in items if i.since <= minor and (i.until is None or minor < i.until))
