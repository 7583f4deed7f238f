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
    state = json.loads(zlib.decompress(b64decode(packed[1])))
    assert isinstance(state, dict)
    return state
