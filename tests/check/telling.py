"""The findings of the checker as text, to be read whole."""

from __future__ import annotations

from workbench import check, ir, script, target


def telling(func: ir.PrimFunc) -> str:
    """Every finding in `func` for an NVIDIA GPU of any kind; "nothing" where there is none."""
    found = [
        "\n".join(
            [
                f"{finding.kind}: {finding.headline}.",
                script.mark_nodes(func, finding.nodes),
                f"found: {finding.detail}",
                f"do:    {finding.hint}",
            ]
        )
        for finding in check.check_program(func, target.get("cuda"))
    ]
    return "\n".join(found) or "nothing"
