"""What a saved page of a lab holds, read as its script reads it."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any


def saved_state(file: Path) -> dict[str, Any]:
    """The traits of the lab in the page."""
    packed = re.search(r' id="state">([^<]*)</script>', file.read_text(encoding="utf-8"))
    assert packed is not None
    state, parts = json.loads(zlib.decompress(b64decode(packed[1])))
    for name, made in state.items():
        if name.startswith("page_"):
            made["pictures"] = {key: whole(one, parts) for key, one in made["pictures"].items()}
        elif name.startswith("compare_"):
            for one in made["pictures"]:
                one["picture"] = whole(one["picture"], parts)
    assert isinstance(state, dict)
    return state


def whole(told: dict[str, int], parts: list[Any]) -> dict[str, Any]:
    """A picture of which each part is a number among those of all pictures."""
    return {name: parts[part] for name, part in told.items()}
