"""What goes wrong, as exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._objects import Diagnostic


class CompileError(ValueError):
    """A text has errors. `diagnostics` has them, and warnings."""

    def __init__(self, name: str, diagnostics: list[Diagnostic]) -> None:
        self.name = name
        self.diagnostics = diagnostics
        errors = [d for d in diagnostics if d.severity == "error"]
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        super().__init__(f"{name} has {count}\n\n" + "".join(d.text for d in errors).rstrip())


class LaunchError(RuntimeError):
    """A launch that the device refuses, or that did not come to its end. `launch` has what was seen before."""

    launch: Any = None


class Unsupported(LaunchError):
    """The kernel has an instruction that the virtual GPU does not execute."""


class Fault(LaunchError):
    """A thread did something that stops a kernel.

    `name` is the kind of fault, `block` and `thread` say who, `line` where in the PTX, `source` is the line that it was
    compiled from as `(file, line)`, `instruction` the instruction's text.
    """

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["text"])
        self.name: str = error["name"]
        self.message: str = error["message"]
        self.kernel: str = error["kernel"]
        self.function: str | None = error["function"]
        self.block = tuple(error["block"]) if error["block"] else None
        self.thread = tuple(error["thread"]) if error["thread"] else None
        self.line: int | None = error["ptx"]["line"] if error["ptx"] else None
        source = error["source"]
        self.source = (source["file"], source["line"]) if source else None
        self.instruction: str | None = error["instruction"]
        self.scheduler: str = error["scheduler"]
