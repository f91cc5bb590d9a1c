"""Cubins as text and back."""

from __future__ import annotations

import os
import warnings

from . import _objects, _warploom
from ._errors import CompileError


def assemble(text: str, name: str = "<text>", *, hazards: bool = False) -> bytes:
    """A cubin of the text that `disassemble` writes, edited or written by hand.

    Warnings become Python's; with `hazards` they tell of control codes that break a dependence. Errors raise `CompileError`.
    """
    cubin, found = _warploom.assemble(text, name, hazards)
    told = _objects.diagnostics(found)
    if cubin is None:
        raise CompileError(name, told)
    for warning in told:
        warnings.warn(str(warning), stacklevel=2)
    return bytes(cubin)


def disassemble(cubin: bytes | str | os.PathLike[str]) -> str:
    """A cubin, or a file with one, as text that `assemble` turns back into the same bytes."""
    if not isinstance(cubin, (bytes, bytearray, memoryview)):
        with open(cubin, "rb") as file:
            cubin = file.read()
    return _warploom.disassemble(bytes(cubin))
