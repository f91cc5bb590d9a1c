"""The PTX memory consistency model."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from . import _warploom


@dataclass(frozen=True)
class Verdict:
    """What the memory model says about a test. `str()` explains it; in a notebook the execution is drawn.

    `holds`: whether the assertion does. `outcomes`: all ways to end, if they were asked for. `race`: whether there is a data race.
    `terminates`: whether all executions end. `certificate`: `execution` or `proof`; `certified`: whether the independent checker accepts
    it. `svg` and `dot`: the execution that shows the verdict, or the one that is forbidden.
    """

    assertion: str
    holds: bool
    undefined: str | None
    outcomes: list[dict[str, Any]] | None
    race: bool
    terminates: bool | None
    bounded: bool
    certificate: str
    certified: bool
    model: str
    ptx: str
    text: str = field(repr=False)
    svg: str | None = field(repr=False)
    dot: str | None = field(repr=False)

    def __str__(self) -> str:
        return self.text.rstrip()

    def _repr_svg_(self) -> str | None:
        return self.svg


def litmus(
    test: str | os.PathLike[str],
    name: str | None = None,
    *,
    model: str = "isa",
    ptx: str | None = None,
    outcomes: bool = False,
    liveness: bool = True,
    bound: int | None = None,
) -> Verdict:
    """What the PTX memory model says about a litmus test: its text, or a file's path.

    `model` is `isa` (the manual's text) or `dartagnan`; `ptx` a version such as `7.5`. `bound` limits iterations of loops that
    write or synchronise. A text with `.version` is read as PTX.

    >>> verdict = litmus('''PTX MP
    ... {
    ... P0:r0=0;
    ... }
    ...  P0@cta 0,gpu 0        | P1@cta 1,gpu 0        ;
    ...  st.relaxed.gpu x, 1   | ld.relaxed.gpu r0, y  ;
    ...  st.relaxed.gpu y, 1   | ld.relaxed.gpu r1, x  ;
    ... exists (P1:r0 == 1 /\\\\ P1:r1 == 0)''')
    >>> verdict.holds, verdict.certified
    (True, True)
    """
    if isinstance(test, str) and "\n" in test:
        text = test
        name = name or ("test.ptx" if ".version" in test else "test.litmus")
    else:
        with open(test, encoding="utf-8") as file:
            text = file.read()
        name = name or os.fspath(test)
    told = _warploom.litmus(text, name, model=model, ptx=ptx, outcomes=outcomes, liveness=liveness, bound=bound)
    return Verdict(**{name: told[name] for name in Verdict.__dataclass_fields__})
