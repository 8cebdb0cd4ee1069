"""A vendor's runtime in a folder of this machine, which auditwheel copies into the wheel."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools import plugins, wheel_checks
from tools.wheel_checks import Expected

RUNTIME = 'extern "C" const char* AcmertKind() { return "of libacmert"; }\n'
CALLED = 'extern "C" const char* AcmertKind();\n\nnamespace PJRT_PLUGIN_NS::vendor {\n'
COMPONENT = """
[[component]]
name = "acmert"
version = "2.1"
license = "LicenseRef-Acme"
license-files = ["LICENSE.acmert"]
libraries = ["libacmert.so.2"]
"""
LICENCES = frozenset({"LICENSE", "LICENSE.acmert"})
KIND = "import jax\nprint({device.device_kind for device in jax.devices('acme')})"


@contextmanager
def linked(repository: Path, project: str, home: Path) -> Iterator[Path]:
    """Link the skeleton with the runtime and name it in third_party.toml, while this lasts.

    Args:
        repository: with the skeleton in csrc/vendor.
        project: the folder of the project whose wheel has the plugin library.
        home: takes the runtime, in a folder that is yielded.
    """
    folder = home / "opt/acme/lib"
    folder.mkdir(parents=True)
    (home / "runtime.cc").write_text(RUNTIME, encoding="utf-8")
    command = ["c++", "-shared", "-fPIC", "-Wl,-soname,libacmert.so.2", "-o"]
    command += [str(folder / "libacmert.so.2"), str(home / "runtime.cc")]
    subprocess.run(command, check=True)
    vendor = repository / "csrc/vendor"
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in (vendor / n for n in ("driver/device.cc", "sources.cmake", "third_party.toml"))
    }
    device, sources, components = texts
    changed = texts[device].replace("namespace PJRT_PLUGIN_NS::vendor {\n", CALLED, 1)
    changed = changed.replace('std::string(kVendor) + " skeleton"', "AcmertKind()")
    assert changed.count("AcmertKind()") == 2
    libraries = f'set(PLUGIN_VENDOR_LIBRARIES "{folder}/libacmert.so.2")'
    named = texts[sources].replace("set(PLUGIN_VENDOR_LIBRARIES)", libraries)
    assert libraries in named
    licence = repository / project / "LICENSE.acmert"
    try:
        device.write_text(changed, encoding="utf-8")
        sources.write_text(named, encoding="utf-8")
        components.write_text(texts[components] + COMPONENT, encoding="utf-8")
        licence.write_text("Do what you like.\n", encoding="utf-8")
        yield folder
    finally:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        licence.unlink(missing_ok=True)


def check_grafted(wheel: Path, expected: Expected) -> None:
    """The wheel has the runtime, its licence and its entry in the SBOM, and finds it in itself."""
    read = wheel_checks.read(wheel)
    assert wheel_checks.check(read, expected) == []
    (grafted,) = read.grafted
    assert grafted != "libacmert.so.2"  # two wheels' copies of it do not meet in one process
    library = wheel_checks.read_library(read.contents[f"{expected.package}/{expected.library}"])
    assert grafted in library.needed
    assert "libacmert.so.2" not in library.needed
    assert f"$ORIGIN/../{wheel.name.split('-')[0]}.libs" in library.search_path


def device_kinds(wheels: Sequence[Path], home: Path) -> str:
    """What JAX says of the devices where these wheels are installed, and nothing else is."""
    python = plugins.environment(home / "venv", [*wheels, "jax"], home / "pip.log")
    environment = plugins.clean_environ()
    environment.pop("LD_LIBRARY_PATH", None)
    done = subprocess.run(
        [python, "-c", KIND], cwd=home, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout or done.stderr
