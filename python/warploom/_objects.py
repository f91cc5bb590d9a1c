"""Results as objects."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from . import _html, _warploom


@dataclass(frozen=True)
class Place:
    """A place in a text: lines and columns count from 1, columns and offsets in bytes."""

    line: int
    column: int
    offset: int


@dataclass(frozen=True)
class Diagnostic:
    """An error or a warning. `str()` is its text for people, with the source line."""

    code: str
    severity: str
    message: str
    file: str
    start: Place
    end: Place
    label: str
    hint: str | None
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text.rstrip()


def diagnostics(values: list[dict[str, Any]]) -> list[Diagnostic]:
    def one(value: dict[str, Any]) -> Diagnostic:
        span = value["span"]
        names = ("code", "severity", "message", "file", "label", "hint", "text")
        rest = {name: value[name] for name in names}
        return Diagnostic(start=Place(**span["start"]), end=Place(**span["end"]), **rest)

    return [one(value) for value in values]


@dataclass(frozen=True)
class Finding:
    """What a check has found. `str()` is the report for people; `data` has all of it."""

    kind: str
    title: str
    text: str = field(repr=False)
    data: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.text


class Findings(list[Finding]):
    """What the checks have found; in a notebook, a page with the sources."""

    def _repr_html_(self) -> str:
        if not self:
            return "<p>The checks found nothing.</p>"
        page = _warploom.findings_page("kernel", json.dumps([finding.data for finding in self]), [])
        return f'<iframe style="width:100%;height:40em;border:0" srcdoc="{_html.escaped(page)}"></iframe>'


class Statistics:
    """The counters of a launch: every warp instruction, none sampled.

    `total` is a dictionary; `classes`, `opcodes` and `instructions` are lists of them, the most frequent first or in the order of
    the text. `table()` is a dictionary of columns with a row for each instruction, as `pandas.DataFrame` takes it.
    """

    def __init__(self, data: dict[str, Any], source: str) -> None:
        self.total: dict[str, Any] = data["total"]
        self.classes: list[dict[str, Any]] = data["classes"]
        self.opcodes: list[dict[str, Any]] = data["opcodes"]
        self.instructions: list[dict[str, Any]] = data["instructions"]
        self._source = source

    def table(self) -> dict[str, list[Any]]:
        """A row for each instruction that was issued."""
        counters = ["warp_instructions", "thread_instructions", "active_lanes", "branches", "divergent_branches"]
        columns: dict[str, list[Any]] = {name: [] for name in ["function", "line", "text", *counters, "lanes"]}
        traffic = ["requests", "accesses", "bytes", "sectors", "bank_conflicts", "collisions"]
        columns.update({name: [] for name in traffic})
        for row in self.instructions:
            for name in ["function", "line", "text", *counters]:
                columns[name].append(row[name])
            columns["lanes"].append(row["thread_instructions"] / row["warp_instructions"])
            for name in traffic:
                columns[name].append(sum(access[name] for access in row["memory"]))
        return columns

    def __repr__(self) -> str:
        total = self.total
        lanes = total["thread_instructions"] / max(total["warp_instructions"], 1)
        return f"<Statistics: {total['warp_instructions']:,} warp instructions, {lanes:.1f} lanes each>"

    def _repr_html_(self) -> str:
        return _html.heat_map(self._source, self.instructions)


@dataclass(frozen=True)
class Launch:
    """What came of a launch.

    `seconds` is the time that it ran, without decoding and copies; `compiled` tells whether compiled code ran, and
    `interpreted_because` why not; `printed` is what the kernel printed. `statistics`, `trace` and `findings` are there if they
    were asked for.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    warp_instructions: int
    seconds: float
    threads: int
    compiled: bool | None
    interpreted_because: str | None
    printed: str
    misuses: list[str]
    statistics: Statistics | None
    trace: list[str] | None = field(repr=False)
    findings: Findings | None

    def _repr_html_(self) -> str:
        how = "compiled" if self.compiled else "interpreted"
        head = (
            f"<p><b>{_html.escaped(self.kernel)}</b>, grid {self.grid}, block {self.block}: "
            f"{self.warp_instructions:,} warp instructions in {self.seconds * 1e3:.3g} ms, {how}</p>"
        )
        parts = [head]
        if self.printed:
            parts.append(f"<pre>{_html.escaped(self.printed)}</pre>")
        if self.findings is not None:
            parts.append(self.findings._repr_html_())
        if self.statistics is not None:
            parts.append(self.statistics._repr_html_())
        return "".join(parts)


def launch(told: dict[str, Any], source: str) -> Launch:
    seen = partial(told, source)
    names = ("warp_instructions", "seconds", "threads", "compiled", "interpreted_because", "misuses")
    return Launch(**{name: told[name] for name in names}, **seen)


def partial(told: dict[str, Any], source: str) -> dict[str, Any]:
    """What is known of a launch whether it came to its end or not."""
    found = told["reports"]
    return {
        "kernel": told["kernel"],
        "grid": tuple(told["grid"]),
        "block": tuple(told["block"]),
        "printed": told["printed"],
        "statistics": Statistics(told["stats"], source) if told["stats"] else None,
        "trace": told["trace"].splitlines() if told["trace"] is not None else None,
        "findings": None if found is None else Findings(finding(value) for value in found),
    }


def finding(value: dict[str, Any]) -> Finding:
    return Finding(kind=value["kind"], title=value["title"], text=value["text"], data=value)
