"""A plugin for cuda.core's tests: where they compile to a cubin, they get PTX.

Most of them could use either, and ask for SASS, which Warploom does not execute. What is tested stays the same but for the
tests that look at the kind of code itself.
"""

import cuda.core


class Program(cuda.core.Program):
    def compile(self, target_type, *arguments, **options):
        return super().compile("ptx" if target_type == "cubin" else target_type, *arguments, **options)


cuda.core.Program = Program
