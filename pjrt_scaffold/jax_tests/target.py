"""The plugin under test, and the Python in which JAX and the plugin are installed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pjrt_scaffold.errors import MissingError, UsageError

_ASK = """
import importlib.metadata as m, json
def version(name):
    try:
        return m.version(name)
    except m.PackageNotFoundError:
        return None
print(json.dumps({name: version(name) for name in ("jax", "jaxlib", "pytest", "absl-py")}))
"""
_NEEDED = {"pytest": "pytest", "absl-py": "absl-py"}
_DEVICES = "import jax; print(jax.devices())"
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Target:
    """What the tests run on.

    Attributes:
        platform: the name for JAX_PLATFORMS.
        python: the interpreter that has jax, pytest and, unless `library` is given, the plugin.
        library: a plugin's library that no package brings to JAX.
    """

    platform: str
    python: str
    library: Path | None = None

    @classmethod
    def of(cls, plugin: str, python: str) -> Target:
        """The target that a user means: a platform's name, or a library's path."""
        path = Path(plugin)
        if path.is_file():
            name = path.stem.removeprefix("lib").removeprefix("pjrt_plugin_")
            return cls(name.lower().replace("-", "_").replace(".", "_"), python, path.resolve())
        if os.sep in plugin or path.suffix in (".so", ".dylib", ".dll"):
            raise UsageError(f"There is no file {plugin}.")
        return cls(plugin, python)

    def environment(self) -> Mapping[str, str]:
        """The environment that leads JAX to the plugin."""
        found = {"JAX_PLATFORMS": self.platform}
        if self.library is not None:
            found["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"{self.platform}:{self.library}"
        return found

    def jax(self) -> str:
        """The release of jax that is installed.

        Raises:
            MissingError: the interpreter does not start, or lacks something.
        """
        try:
            done = subprocess.run(
                [self.python, "-c", _ASK], capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise MissingError(f"{self.python} does not start: {error.strerror}.") from error
        if done.returncode:
            raise MissingError(f"{self.python} does not start.", _end(done.stderr))
        versions: dict[str, str | None] = json.loads(done.stdout)
        lacking = [name for name in ("jax", "jaxlib", "pytest", "absl-py") if not versions[name]]
        if lacking:
            raise MissingError(
                f"{self.python} has no {', '.join(lacking)}.",
                todo=f"Install it beside the plugin: {self.python} -m pip install "
                f"{' '.join(lacking)}\nor give the plugin's own Python with --python.",
            )
        return str(versions["jax"])

    def require_devices(self) -> None:
        """Make sure that JAX finds the platform, before thousands of tests fail for its want.

        Raises:
            MissingError: it does not.
        """
        try:
            done = subprocess.run(
                [self.python, "-c", _DEVICES],
                capture_output=True,
                text=True,
                check=False,
                timeout=_SECONDS,
                env={**os.environ, **self.environment()},
            )
        except subprocess.TimeoutExpired as error:
            raise MissingError(
                f"JAX's platform {self.platform} did not come up in {_SECONDS} seconds."
            ) from error
        if done.returncode:
            raise MissingError(
                f"JAX has no working platform {self.platform} in {self.python}.",
                _end(done.stderr),
                "Give the name that the plugin registers, or the path of its library; "
                "--python names the Python in which it is installed.",
            )


def _end(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-3:])
