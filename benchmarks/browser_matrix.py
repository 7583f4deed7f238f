"""The browser tests in every size and theme, of which the suite takes one each.

python benchmarks/browser_matrix.py             # all of them, about ten minutes
python benchmarks/browser_matrix.py -k frame    # with pytest's arguments
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run them; the exit status is pytest's."""
    call = [sys.executable, "-m", "pytest", "-m", "browser", *sys.argv[1:]]
    environment = os.environ | {"WORKBENCH_EVERY": "1"}
    return subprocess.run(call, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
