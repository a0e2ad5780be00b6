"""The Jinja2 environment: templates of this package, in which every text is escaped."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from tensortap.core.text import escaped


def render(template: str, **values: object) -> str:
    """The text of `templates/<template>.html.j2` with some values."""
    return _template(template).render(values)


def render_macro(template: str, macro: str, *arguments: object) -> str:
    """Render a macro of a template."""
    module: Any = _module(template)
    return str(getattr(module, macro)(*arguments))


@cache
def _environment() -> Environment:
    return Environment(
        autoescape=True,
        finalize=_finalize,
        keep_trailing_newline=True,
        loader=PackageLoader("tensortap.html"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )


@cache
def _template(name: str) -> Template:
    return _environment().get_template(f"{name}.html.j2")


@cache
def _module(name: str) -> object:
    return _template(name).module


def _finalize(value: object) -> object:
    """Text without control characters and direction marks; markup from templates is unchanged."""
    return escaped(value) if isinstance(value, str) and not isinstance(value, Markup) else value
