"""The PJRT C API as data, every minor version, and what is made from it.

    api = load().at(112)
    text = show("PJRT_Client_Create_Args")

Files: `abi.json` is written only by the import; `annotations.json` by people; `jaxlib.json` says
which jaxlib speaks which version; `jax.json` which jax plugins are tested with; `index.json` lists
the versions for copier. Of the templates, `api.json.jinja` computes the API at the chosen version
and `declare.jinja` writes C declarations.

`importer` and `consistency`, which write and check the data, are loaded only by who does that.
"""

from pjrt_scaffold.registry.diff import Change, diff
from pjrt_scaffold.registry.load import load, load_ffi
from pjrt_scaffold.registry.model import Api, Registry, UnknownVersionError
from pjrt_scaffold.registry.show import names, show

__all__ = [
    "Api",
    "Change",
    "Registry",
    "UnknownVersionError",
    "diff",
    "load",
    "load_ffi",
    "names",
    "show",
]
