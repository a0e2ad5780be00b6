"""A recording: the data needed to run one call of a traced function again, without the user's code."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tensortap.core.dtypes import STRING, Array, itemsize, normalize, numpy_dtype
from tensortap.core.errors import DamagedError, InvalidValueError

from ..format.value_codec import bytes_to_strings, strings_to_bytes

ArgumentKind = Literal["tensor", "variable", "iterator"]
MAX_RANK = 254
_PARTS = {"complex64": "float32", "complex128": "float64", "complex32": "float16", "bcomplex32": "bfloat16"}
_HASHED_AT_ONCE = 1 << 20  # elements; of those with NaN a copy is made


@dataclass(frozen=True, slots=True)
class Part:
    """One component of the elements of an iterator; `shape` has None where it varies."""

    dtype: str
    shape: tuple[int | None, ...] | None


@dataclass(frozen=True, slots=True)
class Argument:
    """One flat input of the function.

    `arrays` holds the tensor; the variable's value (nothing if it had none yet); or all that was drawn from
    the iterator, element by element, `len(parts)` arrays each. `dtype` and `shape` are a variable's own.
    `drawn`: it is not an argument of the function, but was drawn by its stateful random ops.
    """

    kind: ArgumentKind
    name: str = ""
    arrays: tuple[Array, ...] = ()
    dtype: str = ""
    shape: tuple[int | None, ...] | None = None
    parts: tuple[Part, ...] = ()
    device: str = ""
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class Recording:
    """One call of a function.

    Attributes:
        function: the root's name in `library`.
        library: a serialized FunctionDefLibrary: the root and all that it calls.
        arguments: the inputs, before the call changed anything.
        step: the step that the call made, or belongs to.
        call: which call of a recorded function it was within the step, from 0.
        graph: id of the function's graph in the dump, or empty.
        reason: why it was recorded: `steps=every(100)`, or the text of a trigger (`NonFinite(): …`).
        output_hashes: `array_hash` of each tensor that the call returned.
        variable_hashes: number of an argument -> `array_hash` of the variable after the call.
        tensor_hashes: `node:slot` -> `array_hash` of each of its visits within the call, empty where none was
            captured.
        nan_as_one: all hashes take every NaN for one; else (older recordings) some may be of the bytes.
        versions: of tensorflow, keras, numpy, python, …
        failed: the error of the call, or empty.
    """

    function: str
    library: bytes
    arguments: tuple[Argument, ...]
    step: int
    call: int = 0
    graph: str = ""
    worker: str = ""
    time: float = 0.0
    reason: str = ""
    output_hashes: tuple[str, ...] = ()
    variable_hashes: Mapping[int, str] = field(default_factory=dict)
    tensor_hashes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    failed: str = ""
    nan_as_one: bool = True

    def has_hash(self, value: Array, recorded: str) -> bool:
        """Whether a value has a hash of this recording."""
        return array_hash(value) == recorded or (not self.nan_as_one and _bytes_hash(value) == recorded)


def array_bytes(value: Array) -> tuple[bytes | memoryview, str]:
    """The stored form of an array, and its logical dtype; strings as (size + 1) offsets and the texts.

    Raises:
        InvalidValueError: the dtype cannot be dumped.
    """
    array, name = normalize(value)
    if name == STRING:
        return strings_to_bytes(array), name
    if not array.size:
        return b"", name
    return array.reshape(-1).view(np.uint8).data, name


def array_hash(value: Array) -> str:
    """SHA-256 over dtype, shape and bytes, in hex: equal if and only if all bits are equal, except in NaN.

    All NaN count as one: which sign and payload one has is said by no standard, and kernels give now these,
    now those for the same inputs.
    """
    data, name = array_bytes(value)
    digest = _hash_of_type(value, name)
    if not data or name == STRING:
        digest.update(data)
        return digest.hexdigest()
    numbers = np.frombuffer(data, numpy_dtype(_PARTS.get(name, name)))
    for start in range(0, numbers.size, _HASHED_AT_ONCE):
        digest.update(_with_one_nan(numbers[start : start + _HASHED_AT_ONCE]).view(np.uint8).data)
    return digest.hexdigest()


def _bytes_hash(value: Array) -> str:
    """The same over the raw bytes."""
    data, name = array_bytes(value)
    digest = _hash_of_type(value, name)
    digest.update(data)
    return digest.hexdigest()


def _hash_of_type(value: Array, name: str) -> hashlib._Hash:
    return hashlib.sha256(f"{name}{list(value.shape)}".encode())


def _with_one_nan(numbers: Array) -> Array:
    with np.errstate(invalid="ignore"):  # signaling ones
        found = np.isnan(numbers)
    return np.where(found, np.array(np.nan).astype(numbers.dtype), numbers) if found.any() else numbers


def array_of(data: bytes, dtype: str, shape: tuple[int, ...]) -> Array:
    """The inverse of `array_bytes`.

    Raises:
        DamagedError: the bytes do not fit dtype and shape.
    """
    if len(shape) > MAX_RANK or any(size < 0 for size in shape):
        raise DamagedError(f"{list(shape)[:10]} is not a shape.")
    size = 1
    for extent in shape:
        size *= extent
    try:
        width = itemsize(dtype)
    except InvalidValueError as error:
        raise DamagedError(error.message, error.hint) from error
    if dtype == STRING:
        if size > len(data) // 8:
            raise DamagedError(f"{len(data)} bytes are too few for {size} texts.")
        return bytes_to_strings(data, size).reshape(shape)
    if size * width != len(data):
        raise DamagedError(f"{len(data)} bytes are not {dtype} of shape {list(shape)}.")
    return np.frombuffer(data, numpy_dtype(dtype)).reshape(shape)
