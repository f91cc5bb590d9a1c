"""PTX and kernels."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from . import _objects, _warploom
from ._errors import CompileError, Fault, LaunchError, Unsupported
from ._objects import Diagnostic, Launch

#: A number of threads or CTAs in up to three dimensions.
Extents = int | tuple[int, ...]
#: Called with the CTAs done and all CTAs, some twenty times a second.
Progress = Callable[[int, int], object]


def text_of(what: str | bytes | os.PathLike[str], name: str | None) -> tuple[str, str]:
    """The text that is given, or that of the file; and what it is called."""
    if isinstance(what, bytes):
        return what.rstrip(b"\0").decode("utf-8", "replace"), name or "<bytes>"
    if isinstance(what, str) and ("\n" in what or ".version" in what):
        return what, name or "<text>"
    with open(what, "rb") as file:
        text = file.read().rstrip(b"\0").decode("utf-8", "replace")
    return text, name or os.fspath(what)


def check(ptx: str | bytes | os.PathLike[str], name: str | None = None) -> list[Diagnostic]:
    """All diagnostics of a PTX text, or of a file.

    >>> found = check('.version 8.0\\n.target sm_90\\n.address_size 64\\n.entry k() { bar.snyc 0; }')
    >>> found[0].code, found[0].severity, found[0].start.line
    ('P0008', 'error', 4)
    """
    return _objects.diagnostics(_warploom.check(*text_of(ptx, name)))


def format(ptx: str | bytes | os.PathLike[str], name: str | None = None) -> str:
    """The canonical text of PTX. Comments are left out.

    >>> print(format('.version 8.0 .target sm_90 .address_size 64 .entry k() { ret; }').expandtabs(4), end='')
    .version 8.0
    .target sm_90
    .address_size 64
    <BLANKLINE>
    .entry k()
    {
        ret;
    }
    """
    text, name = text_of(ptx, name)
    canonical, found = _warploom.format(text, name)
    if canonical is None:
        raise CompileError(name, _objects.diagnostics(found))
    return canonical


def devices() -> list[str]:
    """The devices that there are; `h200` is the default.

    >>> 'h200' in devices()
    True
    """
    return _warploom.devices()


def compiler() -> tuple[str | None, str | None]:
    """The library with LLVM that compiles kernels, and `None`; or `None`, and why there is none."""
    return _warploom.compiler()


def extents(of: Extents) -> list[int]:
    given = [of] if isinstance(of, int) else list(of)
    if not 1 <= len(given) <= 3:
        raise ValueError("one to three extents")
    return [*(int(extent) for extent in given), 1, 1][:3]


def bar() -> Progress | None:
    """A bar on the terminal, for what takes more than half a second."""
    if not sys.stderr.isatty():
        return None
    begun = time.monotonic()

    def show(done: int, total: int) -> None:
        if time.monotonic() - begun > 0.5:
            filled = 30 * done // max(total, 1)
            sys.stderr.write(f"\r[{'=' * filled:30}] {done:,}/{total:,} CTAs")
            sys.stderr.flush()

    return show


class Module:
    """A PTX module, checked and loaded on a virtual GPU of its own.

    `ptx` is the text, its bytes, or a file's path. Errors raise `CompileError`; `diagnostics` has the warnings. The module's
    variables live as long as it does.

    >>> module = Module('''
    ... .version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .entry twice(.param .u64 data)
    ... {
    ...     .reg .b32 %i, %x;
    ...     .reg .b64 %p;
    ...     ld.param.u64 %p, [data];
    ...     mov.u32 %i, %tid.x;
    ...     mad.wide.u32 %p, %i, 4, %p;
    ...     ld.global.u32 %x, [%p];
    ...     add.u32 %x, %x, %x;
    ...     st.global.u32 [%p], %x;
    ...     ret;
    ... }''')
    >>> import numpy as np
    >>> data = np.arange(4, dtype=np.uint32)
    >>> launch = module.kernel('twice').launch(1, 4, data)
    >>> data.tolist()
    [0, 2, 4, 6]
    >>> launch.warp_instructions
    7
    """

    def __init__(self, ptx: str | bytes | os.PathLike[str], *, name: str | None = None, device: str = "h200") -> None:
        self.source, self.name = text_of(ptx, name)
        self.device = device
        module, found = _warploom.Module.load(self.source, self.name, device)
        self.diagnostics = _objects.diagnostics(found)
        if module is None:
            raise CompileError(self.name, self.diagnostics)
        self._module = module

    @property
    def kernels(self) -> list[str]:
        """The names of its kernels."""
        return self._module.kernels()

    def kernel(self, name: str | None = None) -> Kernel:
        """A kernel by its name, or the only one."""
        if name is None:
            if len(self.kernels) != 1:
                raise KeyError(f"{self.name} has the kernels {', '.join(self.kernels) or '(none)'}; name one")
            name = self.kernels[0]
        return Kernel(self, name)

    def __getitem__(self, name: str) -> Kernel:
        return self.kernel(name)

    def __repr__(self) -> str:
        return f"<Module {self.name} on {self.device}: {', '.join(self.kernels)}>"


class Kernel:
    """A kernel of a module: `kernel.launch(grid, block, *arguments)`, or `kernel[grid, block](*arguments)`."""

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name
        told = module._module.kernel(name)
        #: Its parameters: dictionaries with `name`, `type`, `offset` and `size` in bytes.
        self.parameters: list[dict[str, Any]] = told["parameters"]
        #: The block that it requires (`.reqntid`), if it does.
        self.block = tuple(told["block"]) if told["block"] else None

    def launch(
        self,
        grid: Extents,
        block: Extents | None = None,
        *arguments: object,
        shared: int = 0,
        cluster: Extents | None = None,
        engine: str = "auto",
        threads: int | None = None,
        scheduler: str = "round-robin",
        asynchrony: str = "eager",
        strict: bool = False,
        stats: bool = False,
        trace: bool = False,
        check: str | None = None,
        max_instructions: int | None = None,
        progress: Progress | None = None,
    ) -> Launch:
        """Runs the kernel and returns what came of it.

        An argument is a number (converted to the parameter's type; a NumPy scalar keeps its bits where that says no type), an array
        (NumPy, the buffer protocol, `__cuda_array_interface__`, DLPack: copied to the virtual GPU before the launch and, unless
        it is read-only, back behind it), `None` (a null pointer), or `bytes` (a structure). Arrays at the same address stay one.

        `shared` is the bytes of dynamic shared memory. `engine` is `auto`, `interp` or `jit`. `stats` counts, `trace` gives a line for
        each warp instruction. `check` is what the sanitizer looks for: `race`, `memory`, `init`, `sync`, several with commas, or
        `all`. `scheduler` is `round-robin`, `random:SEED` or `adversarial`. `asynchrony` says when asynchronous operations are done: where they
        are issued (`eager`), or `late`, `random:SEED`, `adversarial`; `check` needs `eager`. `max_instructions` stops a launch that issues
        more warp instructions.

        Raises `Fault` if a thread does what stops a kernel, `Unsupported`, or `LaunchError` if the device refuses the launch. Ctrl-C
        stops it. The interpreter's lock is not held meanwhile.
        """
        extents_of_block = block if block is not None else self.block
        if extents_of_block is None:
            raise ValueError("the number of threads of a CTA (block) is missing")
        request = {
            "grid": extents(grid),
            "block": extents(extents_of_block),
            "cluster": None if cluster is None else extents(cluster),
            "shared": shared,
            "engine": engine,
            "threads": threads,
            "scheduler": scheduler,
            "asynchrony": asynchrony,
            "strict": strict,
            "stats": stats,
            "trace": trace,
            "check": check,
            "max_instructions": max_instructions,
        }
        told = self.module._module.launch(self.name, arguments, request, progress or bar())
        if (error := told["error"]) is None:
            return _objects.launch(told, self.module.source)
        raised: LaunchError
        if error["kind"] == "fault":
            raised = Fault(error)
        else:
            raised = (Unsupported if error["kind"] == "unsupported" else LaunchError)(error["message"])
        raised.launch = _objects.partial(told, self.module.source)
        raise raised

    def __getitem__(self, configuration: tuple[Extents, Extents] | tuple[Extents, Extents, int]) -> Configured:
        return Configured(self, configuration)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{p['type']} {p['name']}" for p in self.parameters)
        return f"<Kernel {self.name}({parameters})>"


class Configured:
    """A kernel with a grid, a block, and perhaps bytes of shared memory."""

    def __init__(self, kernel: Kernel, configuration: tuple[Any, ...]) -> None:
        if not 2 <= len(configuration) <= 3:
            raise ValueError("kernel[grid, block] or kernel[grid, block, shared]")
        self.kernel = kernel
        self.grid, self.block, *shared = configuration
        self.shared = shared[0] if shared else 0

    def __call__(self, *arguments: object, **options: Any) -> Launch:
        """Launches it: see `Kernel.launch`."""
        return self.kernel.launch(self.grid, self.block, *arguments, shared=self.shared, **options)
