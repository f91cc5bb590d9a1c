"""Pictures for notebooks: a kernel's text with what each line costs."""

from __future__ import annotations

import html
from typing import Any

STYLE = (
    "font:12px/1.4 monospace;border-collapse:collapse;white-space:pre;text-align:left;"
    "background:#fff;color:#222;max-height:50em;overflow:auto;display:block"
)


def escaped(text: str) -> str:
    return html.escape(text, quote=True)


def shade(share: float, hue: int) -> str:
    """A background: none for nothing, full for all."""
    return f"background:hsl({hue} 90% {100 - 45 * min(max(share, 0.0), 1.0):.0f}%)"


def cell(text: str, style: str = "") -> str:
    return f'<td style="text-align:right;padding:0 .6em;{style}">{text}</td>'


def heat_map(source: str, instructions: list[dict[str, Any]]) -> str:
    """The PTX, and beside each line: how often it was issued, lanes that executed it, and how well it moves memory."""
    rows: dict[int, list[dict[str, Any]]] = {}
    for instruction in instructions:
        if instruction["line"]:
            rows.setdefault(instruction["line"], []).append(instruction)
    if not rows:
        return "<p>No instruction was issued.</p>"
    most = max(sum(i["warp_instructions"] for i in of) for of in rows.values())
    head = ("line", "PTX", "issued", "lanes", "sectors", "efficiency", "conflicts")
    parts = [f'<table style="{STYLE}"><thead><tr>', *(f"<th>{name}</th>" for name in head), "</tr></thead><tbody>"]
    first, last = min(rows), max(rows)
    for number, line in enumerate(source.splitlines(), 1):
        if not first - 2 <= number <= last + 1:
            continue
        parts.append(f"<tr>{cell(str(number), 'color:#888')}<td>{escaped(line)}</td>")
        parts.extend(counters(rows[number], most) if number in rows else [cell("")] * 5)
        parts.append("</tr>")
    parts.append("</tbody></table>")
    return "".join(parts)


def counters(instructions: list[dict[str, Any]], most: int) -> list[str]:
    issued = sum(i["warp_instructions"] for i in instructions)
    lanes = sum(i["thread_instructions"] for i in instructions) / issued
    moved = [access for i in instructions for access in i["memory"]]
    sectors = sum(access["sectors"] for access in moved)
    asked = sum(access["bytes"] for access in moved if access["sectors"])
    conflicts = sum(access["bank_conflicts"] for access in moved)
    efficiency = asked / (32 * sectors) if sectors else None
    return [
        cell(f"{issued:,}", shade(issued / most, 30)),
        cell(f"{lanes:.1f}", shade(1 - lanes / 32, 0)),
        cell(f"{sectors:,}" if sectors else ""),
        cell("" if efficiency is None else f"{efficiency:.0%}", "" if efficiency is None else shade(1 - efficiency, 280)),
        cell(f"{conflicts:,}" if conflicts else "", shade(1, 210) if conflicts else ""),
    ]
