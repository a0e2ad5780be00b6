"""Which `Host` headers are answered: the defence against DNS rebinding."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Host:
    """A host in a browser's form: lower case, IPv6 in brackets. `port` is None without one."""

    name: str
    port: int | None = None


def parse_host(text: str) -> Host | None:
    """Parses `"LocalHost:6016"` into `Host("localhost", 6016)`; None for anything else."""
    text = text.strip().lower()
    if text.startswith("["):
        name, bracket, rest = text.partition("]")
        name += bracket
    else:
        name, colon, port = text.partition(":")
        rest = colon + port
    if not name or (
        rest and not (rest[0] == ":" and rest[1:].isascii() and rest[1:].isdigit() and len(rest) <= 6)
    ):
        return None
    if any(not (c.isalnum() or c in "-._:[]") for c in name):
        return None
    return Host(name.rstrip("."), int(rest[1:]) if rest else None)


def is_loopback(name: str) -> bool:
    """Whether listening on `name` reaches this machine only."""
    if name.lower() == "localhost":
        return True
    address = _address(name)
    return address is not None and address.is_loopback


def names_on_loopback(host: str) -> tuple[str, ...] | None:
    """Names of a server on `host` in addition to the loopback names; None if it is reachable from the
    network.

    The machine's own name is often one of 127.0.0.1 only. A name without an address cannot be listened on.
    """
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        found = []
    if not all(is_loopback(str(address[0])) for *_, address in found):
        return None
    return () if parse_host(bracketed(host)) is None else (host,)


def is_address(name: str) -> bool:
    """Whether it is an IPv4 or IPv6 address."""
    return _address(name) is not None


def bracketed(name: str) -> str:
    """Converts `"::1"` to `"[::1]"`, the form in URLs and Host headers; other hosts unchanged."""
    return f"[{name}]" if ":" in name and not name.startswith("[") else name


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return None


@dataclass(frozen=True)
class AllowedHosts:
    """The list a `Host` header must be on.

    `own_port` is the port that the loopback names must carry (None: any). `extra` hosts match with any port
    unless they name one. `any_address` also lets every IP address in: rebinding needs a name.
    """

    own_port: int | None
    extra: tuple[Host, ...] = ()
    any_address: bool = False

    @classmethod
    def of(cls, names: Iterable[str], own_port: int | None, *, any_address: bool = False) -> AllowedHosts:
        """Raises ValueError if one of `names` is not a host."""
        extra = []
        for name in names:
            host = parse_host(bracketed(name) if name.count(":") > 1 else name)
            if host is None:
                raise ValueError(f"{name[:100]!r} is not a host name.")
            extra.append(host)
        return cls(own_port, tuple(extra), any_address)

    def allows(self, header: str, scheme: str = "http") -> bool:
        """Whether a request with this `Host` header is answered."""
        host = parse_host(header)
        if host is None:
            return False
        port = host.port if host.port is not None else _DEFAULT_PORTS.get(scheme)
        if host.name in LOOPBACK_NAMES and self.own_port in (None, port):
            return True
        if self.any_address and _address(host.name) is not None:
            return True
        return any(host.name == extra.name and extra.port in (None, port) for extra in self.extra)
