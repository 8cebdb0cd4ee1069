"""What copier does again and again for each file, done once: half of the time of a rendering.

The classes are internal to copier. Where one of them, or what is replaced in it, is missing or of
another kind, copier works as ever, only slower; the rendering is the same in any case.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast


@contextmanager
def taken() -> Iterator[None]:
    """Let copier take the shortcuts until the end of the block, which renders one template."""
    import copier._main
    import copier._user_data
    from jinja2 import Environment

    worker = getattr(copier._main, "Worker", None)
    question = getattr(copier._user_data, "Question", None)
    with ExitStack() as replaced:
        replaced.enter_context(_no_garbage_collected())
        for owner, name, shortcut in (
            (Environment, "from_string", _plain_text_as_it_is),
            (Environment, "_load_template", _generated_files_rendered_once),
            (worker, "_render_string", _plain_part_as_it_is),
            (worker, "answers_relpath", _answers_file_found_once),
            (question, "get_default", _hidden_answers_computed_once),
        ):
            replaced.enter_context(_replaced(owner, name, shortcut))
        yield


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """Leave cycles of garbage to the end of the process: looking for them costs more."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _replaced(owner: Any, name: str, shortcut: Callable[[Any], Any]) -> Iterator[None]:
    """Put the shortcut, made of what a class has, in its place; None, or nothing there: nothing."""
    was = getattr(owner, name, None)
    instead = None if was is None else shortcut(was)
    if instead is None:
        yield
        return
    setattr(owner, name, instead)
    try:
        yield
    finally:
        setattr(owner, name, was)


@dataclass(frozen=True)
class _PlainText:
    """What a Jinja template is that has no tags."""

    text: str

    def render(self, *_: Any, **__: Any) -> str:
        return self.text


def _plain_text_as_it_is(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Keep text without tags from Jinja's compiler."""

    def from_string(self: Any, source: Any, *rest: Any, **named: Any) -> Any:
        if rest or named or not isinstance(source, str) or not _is_plain(self, source):
            return compiled(self, source, *rest, **named)
        return _PlainText(source)

    return from_string


def _generated_files_rendered_once(load: Callable[..., Any]) -> Callable[..., Any]:
    """Keep the text of a generated file for MANIFEST, which holds its hash, or the other way round.

    These files depend on nothing but the answers (tests/registry compares MANIFEST with them).
    """

    def load_template(self: Any, *arguments: Any, **named: Any) -> Any:
        template = load(self, *arguments, **named)
        if str(template.name).startswith("template/csrc/generated/"):
            render = template.root_render_func
            if not isinstance(render, _RenderedOnce):  # Jinja keeps templates that it loaded
                template.root_render_func = _RenderedOnce(render)
        return template

    return load_template


@dataclass
class _RenderedOnce:
    """What a Jinja template renders with, and what came of it the first time."""

    render: Callable[[Any], Iterator[str]]
    text: str | None = None

    def __call__(self, context: Any) -> Iterator[str]:
        if self.text is None:
            self.text = "".join(self.render(context))
        yield self.text


def _plain_part_as_it_is(rendered: Callable[..., str]) -> Callable[..., str]:
    """Make no context of all answers for a part of a path without tags."""

    def render_string(self: Any, string: str, *rest: Any, **named: Any) -> str:
        if isinstance(string, str) and _is_plain(self.jinja_env, string):
            return string
        return rendered(self, string, *rest, **named)

    return render_string


def _answers_file_found_once(found: Any) -> Any:
    """Keep the path of the answers file, which each part of each path is compared with."""
    if not isinstance(found, property) or (find := found.fget) is None:
        return None
    paths: dict[str, Path] = {}

    def answers_relpath(self: Any) -> Path:
        name = str(self.answers_file or self.template.answers_relpath)
        if "{" in name:  # it depends on answers
            return cast(Path, find(self))
        if name not in paths:
            paths[name] = find(self)
        return paths[name]

    return property(answers_relpath)


def _hidden_answers_computed_once(computed: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Keep the value of a question that is never asked: copier wants it twice, one at once."""
    values: dict[str, Any] = {}

    def get_default(self: Any) -> Any:
        if self.when is not False and self.when != "false":
            return computed(self)
        if self.var_name not in values:
            values[self.var_name] = computed(self)
        return values[self.var_name]

    return get_default


def _is_plain(jinja: Any, text: str) -> bool:
    """Whether rendering leaves a text as it is. Jinja may drop or convert line ends."""
    line_prefixes = jinja.line_statement_prefix or jinja.line_comment_prefix
    tags = (jinja.block_start_string, jinja.variable_start_string, jinja.comment_start_string)
    return not (line_prefixes or "\n" in text or "\r" in text or any(t in text for t in tags))
