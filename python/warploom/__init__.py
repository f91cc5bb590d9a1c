"""The open PTX toolchain and virtual GPU.

======================  ======================================================
`check`, `format`       diagnostics and the canonical text of PTX
`Module`, `Kernel`      kernels on arrays, on a virtual GPU
`Launch`                what came of a launch: statistics, trace, reports
`assemble`              a cubin from text, and back with `disassemble`
`litmus`                what the PTX memory model allows
`devices`, `compiler`   what there is to run kernels on
======================  ======================================================

Nothing here needs a GPU, a driver or a compiler.
"""

from ._binaries import assemble, disassemble
from ._errors import CompileError, Fault, LaunchError, Unsupported
from ._litmus import Verdict, litmus
from ._module import Kernel, Module, check, compiler, devices, format
from ._objects import Diagnostic, Finding, Launch, Place, Statistics
from ._warploom import __version__

__all__ = [
    "CompileError",
    "Diagnostic",
    "Fault",
    "Finding",
    "Kernel",
    "Launch",
    "LaunchError",
    "Module",
    "Place",
    "Statistics",
    "Unsupported",
    "Verdict",
    "__version__",
    "assemble",
    "check",
    "compiler",
    "devices",
    "disassemble",
    "format",
    "litmus",
]
