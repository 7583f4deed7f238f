"""text_of_map: an index map of TVM's, a graph of nodes in a trace, as text for our verbs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_SIGNS = {
    "prim.Add": "+",
    "prim.Sub": "-",
    "prim.Mul": "*",
    "prim.FloorDiv": "//",
    "prim.FloorMod": "%",
}
MOST = 1000  # values: a node that is named by two others is written twice, and so on


def text_of_map(graph: str, made: Mapping[str, Any]) -> str:
    """``lambda i, j: (i // 16, j, i % 16)``, from the JSON that TVM keeps of its nodes.

    A node names others by their places. What is no index of the map is a number that a step before
    has sampled, by its name in `made`. Raises LookupError, TypeError or ValueError for all else.
    """
    data = json.loads(graph)
    nodes = data["nodes"]
    root = nodes[data["root_index"]]["data"]
    indices = [_name(nodes, k) for k in nodes[root["initial_indices"]]["data"]]
    known = {**made, **{name: name for name in indices}}
    left = iter(range(MOST))

    def text(place: int) -> str:
        if next(left, None) is None:
            raise ValueError(f"the map has more than {MOST} values")
        kind, node = nodes[place]["type"], nodes[place]["data"]
        if kind == "ir.IntImm":
            return str(int(nodes[node["value"]]["data"]))
        if kind == "ir.Var":
            return str(known[_name(nodes, place)])
        return f"({text(node['a'])} {_SIGNS[kind]} {text(node['b'])})"

    results = [text(place) for place in nodes[root["final_indices"]]["data"]]
    return f"lambda {', '.join(indices)}: ({', '.join(results)},)"


def _name(nodes: list[Any], place: int) -> str:
    """What a variable is called."""
    name = nodes[nodes[place]["data"]["name"]]["data"]
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"{name!r} is no name")
    return name
