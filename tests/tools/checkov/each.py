"""Judges files with checkov, each on its own: `python each.py OUT FILE...`, run by the Python that has checkov.

In: manifests. Out: `OUT/<stem>.json` a file, what the command line of checkov says of it. Starting checkov takes
seconds, which is why it is loaded once; each file is judged by a fork, so that no pod is connected with the policies of
another project, as it would be in one folder: checkov does not look at namespaces. Exit 2 where one cannot be judged.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Final

# Nothing of it asks for the network: no policies of the platform's, no upload, no modules.
_OPTIONS: Final = ("--framework", "kubernetes", "--quiet", "--compact", "--skip-download", "--output", "json")
_FOUND: Final = 1


def main() -> int:
    """Judge all files; returns the exit code."""
    checkov: Any = importlib.import_module("checkov.main")
    out = Path(sys.argv[1])
    for path in sys.argv[2:]:
        code = _apart(checkov, path, out / f"{Path(path).stem}.json")
        if code not in (0, _FOUND):
            sys.stderr.write(f"checkov ended with {code} on {path}\n")
            return 2
    return 0


def _apart(checkov: Any, path: str, out: Path) -> int:
    """Judge a file in a process of its own; returns how it ended."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), sys.stdout.fileno())
            code = checkov.Checkov(["--file", path, *_OPTIONS]).run() or 0
            sys.stdout.flush()
        finally:
            if code not in (0, _FOUND):
                traceback.print_exc()
                sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
