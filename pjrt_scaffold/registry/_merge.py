"""Merge the snapshot of one API version into the registry data, and write the data as text.

The data holds every fact once, with the minor version that brought it (`since`) and, for the few
things that went away, the first minor without it (`until`). A value that changed is a history
`[[since, value], ...]`. Struct fields that were appended carry their own `since`; any other change
of a struct is a new layout. Versions are merged in ascending order, the last header of each minor.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from pjrt_scaffold.errors import UsageError

Json = dict[str, Any]

FORMAT = 1
KINDS = ("enums", "opaque", "structs", "callbacks", "functions", "constants", "synonyms")


def empty() -> Json:
    """Registry data without any version."""
    data: Json = {"format": FORMAT, "major": 0, "minors": [], "partial": []}
    data["api_struct_size"] = []
    return data | {kind: [] for kind in KINDS}


def merge(data: Json, snapshot: Json, *, partial: bool = False) -> Json:
    """Return `data` with `snapshot` (from `read_headers`) added as its newest version.

    With `partial`, an extension header that the snapshot lacks says nothing: its facts go on.
    Re-importing the newest version replaces nothing but adds what its last header added; a version
    counts as partial until one whole tree of it was imported.

    Raises:
        UsageError: the snapshot is of another major, or older than the newest version.
    """
    minor = snapshot["minor"]
    if snapshot["major"] != data["major"]:
        raise UsageError(
            f"The header has API version {snapshot['major']}.{minor}",
            f"the registry holds the versions of major {data['major']}",
        )
    if data["minors"] and minor < data["minors"][-1]:
        raise UsageError(
            f"The header has API version 0.{minor}, the registry ends at 0.{data['minors'][-1]}",
            "versions are imported in ascending order",
            "to add an older one, import all headers anew from the oldest into an empty registry",
        )
    data = deepcopy(data)
    if minor not in data["minors"]:
        data["minors"].append(minor)
        data["partial"] += [minor] if partial else []
    elif minor in data["partial"] and not partial:
        data["partial"].remove(minor)
    snapshot = _prepare(snapshot, data)
    headers = {item["header"] for kind in KINDS for item in snapshot[kind]}
    for kind in KINDS:
        old = {item["name"]: item for item in data[kind]}
        new = {item["name"]: item for item in snapshot[kind]}
        for name, item in old.items():
            gone = name not in new and not (partial and item["header"] not in headers)
            if gone and "until" not in item:
                item["until"] = minor
        data[kind] = _in_order(data[kind], snapshot[kind])
        for item in data[kind]:
            if item["name"] in new:
                _MERGERS[kind](item, new[item["name"]], minor)
    return data


def _prepare(snapshot: Json, data: Json) -> Json:
    """Take the call table out of the structs: its entries are the functions, in slot order."""
    snapshot = deepcopy(snapshot)
    table = next(s for s in snapshot["structs"] if s["name"] in ("PJRT_Api", "XLA_FFI_Api"))
    snapshot["structs"].remove(table)
    _history(data["api_struct_size"], snapshot["minor"], table["struct_size"])
    slots = _slots(table, {f["name"] for f in snapshot["functions"]})
    for function in snapshot["functions"]:
        if function["name"] in slots:
            function["slot"] = slots.index(function["name"])
    header_of = {n: _header_of(n, snapshot) for n in snapshot["constants"]}
    snapshot["constants"] = [
        {"name": n, "header": header_of[n], "value": v} for n, v in snapshot["constants"].items()
    ]
    return snapshot


def _slots(table: Json, functions: set[str]) -> list[str]:
    """The functions of the call table in its order; nothing else may stand among them.

    Raises:
        UsageError: a member is no function that the header declares under a name.
    """
    slots: list[str] = []
    for field in table["fields"]:
        # `PJRT_X* PJRT_X`, or the pointer written out under the name of the function.
        name = field["name"] if field.get("type") == "function" else field.get("type")
        if name in functions:
            slots.append(name)
        elif slots or field.get("type") == "function":
            raise UsageError(
                f"{table['name']}.{field['name']} is no function that the header declares",
                "the call table holds functions only, each with a type of its own name",
            )
    return slots


def _header_of(constant: str, snapshot: Json) -> str:
    short = constant.removeprefix("PJRT_API_").removesuffix("_EXTENSION_VERSION").lower()
    headers = {s["header"] for s in snapshot["structs"]}
    return short if short in headers else next((h for h in headers if h and h in short), "")


def _in_order(old: list[Json], new: list[Json]) -> list[Json]:
    """The old items with the new ones put after what precedes them in the header."""
    result = list(old)
    names = [item["name"] for item in old]
    position = -1
    for item in new:
        if item["name"] in names:
            position = names.index(item["name"])
        else:
            position += 1
            result.insert(position, {"name": item["name"], "header": item["header"]})
            names.insert(position, item["name"])
    return result


def _history(history: list[list[Any]], minor: int, value: Any) -> None:
    if not history or history[-1][1] != value:
        if history and history[-1][0] == minor:
            history.pop()
        history.append([minor, value])


def _seen(item: Json, new: Json, minor: int) -> None:
    item.setdefault("since", minor)
    item.pop("until", None)
    item["header"] = new["header"]


def _merge_plain(item: Json, new: Json, minor: int) -> None:
    _seen(item, new, minor)
    item.update({key: value for key, value in new.items() if key not in ("name", "header")})


def _merge_synonym(item: Json, new: Json, minor: int) -> None:
    _seen(item, new, minor)
    if item.setdefault("type", new["type"]) != new["type"]:
        raise UsageError(
            f"0.{minor}: {item['name']} stands for {new['type']}, before for {item['type']}",
            "the registry has no place for such a change",
        )


def _merge_callback(item: Json, new: Json, minor: int) -> None:
    _seen(item, new, minor)
    _signature(item, new, ("returns", "params"), minor)


def _signature(item: Json, new: Json, keys: tuple[str, ...], minor: int) -> None:
    """Keep the newest signature in the item and those before it in `was`, oldest first."""
    old = {key: item[key] for key in keys if key in item}
    new = {key: new[key] for key in keys}
    if old and old != new:
        before = item["was"][-1]["until"] if "was" in item else item["since"]
        if before < minor:  # else an earlier header of the same version, which does not count
            item.setdefault("was", []).append({"until": minor, **old})
    item.update(new)


def _merge_function(item: Json, new: Json, minor: int) -> None:
    _seen(item, new, minor)
    _signature(item, new, ("returns", "args", "params"), minor)
    if "slot" in new:
        _history(item.setdefault("slots", []), minor, new["slot"])


def _merge_constant(item: Json, new: Json, minor: int) -> None:
    _seen(item, new, minor)
    _history(item.setdefault("values", []), minor, new["value"])


def _merge_enum(item: Json, new: Json, minor: int) -> None:
    _seen(item, new, minor)
    values = item.setdefault("values", [])
    present = {v["name"] for v in new["values"]}
    for value in values:
        if value["name"] not in present:
            value.setdefault("until", minor)
    numbers = {v["name"]: v["value"] for v in new["values"]}
    for value in values:
        if numbers.get(value["name"], value["value"]) != value["value"]:
            raise UsageError(
                f"0.{minor}: {value['name']} is {numbers[value['name']]}, before {value['value']}",
                "a value of an enum cannot change",
            )
    known = {v["name"] for v in values}
    values += [v | {"since": minor} for v in new["values"] if v["name"] not in known]


def _merge_struct(item: Json, new: Json, minor: int) -> None:
    _seen(item, new, minor)
    layouts = item.setdefault("layouts", [])
    _history(item.setdefault("struct_size", []), minor, new["struct_size"])
    if layouts and _extend(layouts[-1]["fields"], new["fields"], minor):
        return
    if layouts and layouts[-1]["since"] == minor:
        layouts.pop()
    layouts.append({"since": minor, "fields": new["fields"]})


def _extend(fields: list[Json], new: list[Json], minor: int) -> bool:
    """Append what `new` adds at the end; false, and no change, when it differs elsewhere."""
    if len(new) < len(fields):
        return False
    pairs = list(zip(fields, new, strict=False))
    if not all(_same(a, b) for a, b in pairs):
        return False
    for a, b in pairs:
        if "union" in a:
            a["union"] += [m | {"since": minor} for m in b["union"][len(a["union"]) :]]
    fields += [field | {"since": minor} for field in new[len(fields) :]]
    return True


def _same(a: Json, b: Json) -> bool:
    if "union" in a and "union" in b:
        members = zip(a["union"], b["union"], strict=False)
        return (a["offset"], a["size"]) == (b["offset"], b["size"]) and all(
            _same(x, y) for x, y in members
        )
    return {k: v for k, v in a.items() if k != "since"} == b


_MERGERS = {
    "enums": _merge_enum,
    "opaque": _merge_plain,
    "structs": _merge_struct,
    "callbacks": _merge_callback,
    "functions": _merge_function,
    "constants": _merge_constant,
    "synonyms": _merge_synonym,
}


def to_text(data: Json) -> str:
    """The data as JSON with one item a line, so that a diff shows what an import changed."""
    lines = []
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            items = ",\n  ".join(_compact(item) for item in value)
            lines.append(f' "{key}": [\n  {items}\n ]')
        else:
            lines.append(f' "{key}": {_compact(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
