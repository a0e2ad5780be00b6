"""The page inside a notebook: below a secret path, for named sites (docs/security.md, "In a notebook").

A frame of another site gets no cookies, so that the path itself is the token: the page's addresses are
relative, and carry it on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tensortap.core.errors import InvalidValueError

from .login import equal_tokens, new_token

LOCAL = tuple(f"{scheme}://{host}:*" for host in ("localhost", "127.0.0.1") for scheme in ("http", "https"))
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]{1,253}(:(\d{1,5}|\*))?")
_PREFIX = "/frame/"


@dataclass(frozen=True)
class Framing:
    """The sites that may embed the page.

    Args:
        origins: sites in addition to this machine, `https://host` or with a port.

    Raises:
        InvalidValueError: one of them is not a site.
    """

    origins: tuple[str, ...] = ()
    secret: str = field(default_factory=new_token, init=False, repr=False)

    def __post_init__(self) -> None:
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                raise InvalidValueError(
                    f"{origin[:100]!r} is not a valid origin to embed the page.",
                    "Use https://hub.example.org or http://host:8888.",
                )

    @property
    def path(self) -> str:
        """Path of the page that may be embedded."""
        return f"{_PREFIX}{self.secret}/"

    @property
    def ancestors(self) -> str:
        """The sources of `frame-ancestors`."""
        return " ".join(("'self'", *LOCAL, *self.origins))

    def within(self, environ: dict[str, Any]) -> dict[str, Any] | None:
        """The request as the application sees it, if it is below the secret path."""
        path = environ.get("PATH_INFO", "")
        prefix, rest = path[: len(self.path)], path[len(self.path) - 1 :]
        if not equal_tokens(prefix, self.path):
            return None
        return environ | {
            "SCRIPT_NAME": environ.get("SCRIPT_NAME", "") + prefix.rstrip("/"),
            "PATH_INFO": rest,
        }
