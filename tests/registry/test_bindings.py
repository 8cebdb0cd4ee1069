"""The ctypes classes have the layout that the registry records, and calls reach their slot."""

from __future__ import annotations

import ctypes

import pytest

from pjrt_scaffold.bindings import Bindings
from pjrt_scaffold.registry.load import load

REGISTRY = load()


@pytest.mark.parametrize("minor", REGISTRY.minors)
def test_every_member_lies_where_the_registry_says(minor: int) -> None:
    binding = Bindings(REGISTRY.at(minor))
    for name, struct in binding.api.structs.items():
        made = binding.struct(name)
        for field in struct.fields(minor):
            for member in field.union or (field,):
                seen = getattr(made, member.name)
                assert (seen.offset, seen.size) == (member.offset, member.size), (name, member)


def test_arguments_declare_their_size() -> None:
    binding = Bindings(REGISTRY.at(54))
    args = binding.args("PJRT_Error_Message_Args", error=7)
    declared = binding.api.structs["PJRT_Error_Message_Args"].struct_size.at(54)
    assert (args.struct_size, args.error, args.message_size) == (declared, 7, 0)
    with pytest.raises(AttributeError, match="no member eror"):
        binding.args("PJRT_Error_Message_Args", eror=7)


def test_a_call_goes_through_its_slot() -> None:
    binding = Bindings(REGISTRY.at(REGISTRY.minors[-1]))
    size = REGISTRY.api_struct_size.at(binding.api.minor)
    assert size is not None
    table = ctypes.create_string_buffer(size)
    ctypes.c_size_t.from_buffer(table).value = size
    seen: list[int | None] = []

    def create(args: int | None) -> int:
        seen.append(args)
        return 42

    callback = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(create)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    offset = binding.offset("PJRT_Client_Create")
    ctypes.c_void_p.from_buffer(table, offset).value = address
    args = binding.args("PJRT_Client_Create_Args")
    function = binding.function(ctypes.addressof(table), "PJRT_Client_Create")
    assert function is not None
    assert function(ctypes.byref(args)) == 42
    assert seen == [ctypes.addressof(args)]
    assert binding.function(ctypes.addressof(table), "PJRT_Client_Destroy") is None
    ctypes.c_size_t.from_buffer(table).value = offset
    assert binding.function(ctypes.addressof(table), "PJRT_Client_Create") is None


@pytest.mark.parametrize("minor", REGISTRY.minors)
def test_the_last_slot_ends_the_table(minor: int) -> None:
    binding = Bindings(REGISTRY.at(minor))
    end = max(binding.offset(f.name) for f in binding.api.functions) + 8
    declared = REGISTRY.api_struct_size.at(minor)
    assert declared is not None
    # Up to 0.56 the header's declared size left out the last four entries of its own table.
    assert end - declared == (32 if minor < 57 else 0)
