"""A recording as a JSON object that refers to blobs (FORMAT.md, "Recordings")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError, FormatVersionError

from .blobs import Blobs
from .recording import (
    Argument,
    Part,
    Recording,
    array_bytes,
    array_of,
)

VERSION = 1
_PLAIN = ("function", "step", "call", "graph", "worker", "time", "reason", "failed")


def to_manifest(recording: Recording, blobs: Blobs) -> dict[str, Any]:
    """The recording as a JSON object; its bytes go into `blobs`."""
    return {
        "format": "tensortap recording",
        "version": VERSION,
        **{name: getattr(recording, name) for name in _PLAIN},
        "versions": dict(recording.versions),
        "library": blobs.put(recording.library),
        "arguments": [_argument_record(argument, blobs) for argument in recording.arguments],
        "output_hashes": list(recording.output_hashes),
        "variable_hashes": {str(number): digest for number, digest in recording.variable_hashes.items()},
        "tensor_hashes": {name: list(hashes) for name, hashes in recording.tensor_hashes.items()},
        "nan_as_one": recording.nan_as_one,
    }


def _argument_record(argument: Argument, blobs: Blobs) -> dict[str, Any]:
    return {
        "kind": argument.kind,
        "name": argument.name,
        "dtype": argument.dtype,
        "shape": argument.shape,
        "parts": [{"dtype": part.dtype, "shape": part.shape} for part in argument.parts],
        "device": argument.device,
        "arrays": [_array_record(array, blobs) for array in argument.arrays],
        **({"drawn": True} if argument.drawn else {}),
    }


def _array_record(array: Array, blobs: Blobs) -> dict[str, Any]:
    data, dtype = array_bytes(array)
    return {"dtype": dtype, "shape": list(array.shape), "data": blobs.put(data)}


def checked_manifest(manifest: object) -> dict[str, Any]:
    """A manifest that this tensortap reads.

    Raises:
        DamagedError: it is not one. FormatVersionError: a newer tensortap wrote it.
    """
    if not isinstance(manifest, dict) or manifest.get("format") != "tensortap recording":
        raise DamagedError("It is not a recording.")
    version = manifest.get("version")
    if isinstance(version, int) and version > VERSION:
        raise FormatVersionError(
            f"The recording has version {version}; this tensortap reads version {VERSION}.", "Upgrade."
        )
    return manifest


def from_manifest(manifest: object, fetch: Callable[[object], bytes]) -> Recording:
    """The inverse of `to_manifest`.

    Args:
        fetch: the bytes of a reference.

    Raises:
        DamagedError: it is invalid. FormatVersionError: a newer tensortap wrote it.
    """
    manifest = checked_manifest(manifest)
    try:
        arguments = tuple(_argument(record, fetch) for record in manifest["arguments"])
        return Recording(
            **{name: _typed(manifest[name], Recording.__annotations__[name]) for name in _PLAIN},
            library=fetch(manifest["library"]),
            arguments=arguments,
            output_hashes=tuple(map(str, manifest["output_hashes"])),
            variable_hashes={
                _number(key, len(arguments)): str(value) for key, value in manifest["variable_hashes"].items()
            },
            tensor_hashes={
                str(key): tuple(map(str, values)) for key, values in manifest["tensor_hashes"].items()
            },
            versions={str(key): str(value) for key, value in manifest["versions"].items()},
            nan_as_one=manifest.get("nan_as_one") is True,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedError(f"The manifest of a recording is invalid: {error!r}.") from error


def _typed(value: Any, annotation: str) -> Any:
    wanted: tuple[type, ...] = {"int": (int,), "str": (str,), "float": (int, float)}[annotation]
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise TypeError(value)
    return value


def _number(text: str, count: int) -> int:
    if not 0 <= int(text) < count:
        raise ValueError(text)
    return int(text)


def _argument(record: dict[str, Any], fetch: Callable[[object], bytes]) -> Argument:
    if record["kind"] not in ("tensor", "variable", "iterator"):
        raise ValueError(record["kind"])
    return Argument(
        kind=record["kind"],
        name=str(record["name"]),
        arrays=tuple(_array(array, fetch) for array in record["arrays"]),
        dtype=str(record["dtype"]),
        shape=_shape(record["shape"]),
        parts=tuple(Part(str(part["dtype"]), _shape(part["shape"])) for part in record["parts"]),
        device=str(record["device"]),
        drawn=record.get("drawn") is True,
    )


def _shape(record: list[Any] | None) -> tuple[int | None, ...] | None:
    return None if record is None else tuple(None if extent is None else int(extent) for extent in record)


def _array(record: dict[str, Any], fetch: Callable[[object], bytes]) -> Array:
    shape = tuple(int(extent) for extent in record["shape"])
    return array_of(fetch(record["data"]), str(record["dtype"]), shape)
