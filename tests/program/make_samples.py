"""Writes the programs that the C++ tests read, as bytes in a header.

Run with a jaxlib at hand: python -m tests.program.make_samples
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.lib import _jax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from jaxlib.mlir import ir

from tests.program.corpus import lower

HEADER = Path(__file__).parents[2] / "template" / "csrc" / "program" / "sample_programs.h"
TARGET = "1.13.0"


def double() -> Any:
    """The smallest program that computes something."""
    return lower(lambda x: x * 2.0, jax.ShapeDtypeStruct((), jnp.float32))


def everything() -> Any:
    """Loops, branches, indexing, constants of several types, calls, a mesh and a manual region."""
    mesh = Mesh(np.array(jax.devices()), ("x",))
    mapped = jax.shard_map(
        lambda a: lax.psum(a, "x"), mesh=mesh, in_specs=P("x"), out_specs=P(), check_vma=False
    )

    def function(a: Any, i: Any) -> Any:
        a = lax.fori_loop(0, 3, lambda _, x: jnp.where(np.arange(4) % 2 == 0, x, x + a), a)
        a = lax.cond(i[0] > 0, jax.nn.relu, lambda x: lax.top_k(x, 4)[0], a)
        a = a.at[i].add(a[i, 0:1] * np.array([0.5, 0.25], np.float16)[0])
        return mapped(a), jnp.argmax(a, axis=1)

    rows = jax.ShapeDtypeStruct((8, 4), jnp.float32)
    return lower(function, rows, jax.ShapeDtypeStruct((3,), jnp.int32))


def anonymous(lowered: Any) -> bytes:
    """The artifact with files named alone, without the folders of this machine."""
    module = lowered.compiler_ir("stablehlo")
    text = module.operation.get_asm(enable_debug_info=True)
    with module.context:
        module = ir.Module.parse(re.sub(r'"/[^"]*/([^"/]+)"', r'"\1"', text))
        return bytes(_jax.mlir.serialize_portable_artifact(module, TARGET, True))


def array(name: str, code: bytes) -> str:
    """The bytes as a C++ constant."""
    lines = [
        "    " + ", ".join(f"0x{byte:02x}" for byte in code[start : start + 15]) + ",\n"
        for start in range(0, len(code), 15)
    ]
    return f"inline constexpr unsigned char k{name}[] = {{\n{''.join(lines)}}};\n"


def main() -> None:
    """Writes the header."""
    samples = [("Double", double()), ("Everything", everything())]
    arrays = "\n".join(
        f"// {made.__doc__}\n{array(name, anonymous(lowered))}"
        for (name, lowered), made in zip(samples, (double, everything), strict=True)
    )
    HEADER.write_text(
        f"""#ifndef PROGRAM_SAMPLE_PROGRAMS_H_
#define PROGRAM_SAMPLE_PROGRAMS_H_

// StableHLO portable artifacts (target {TARGET}) for tests, as JAX sends them. Written by
// tests/program/make_samples.py; not to be edited.

#include <string_view>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::program {{

// clang-format off
{arrays}// clang-format on

template <typename Array>
std::string_view SampleText(const Array& bytes) {{
  return {{reinterpret_cast<const char*>(bytes), sizeof(bytes)}};
}}

}}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_SAMPLE_PROGRAMS_H_
"""
    )


if __name__ == "__main__":
    main()
