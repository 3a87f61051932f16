"""The two programs that run in the cluster, and their texts as they travel in manifests."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def text(name: str) -> str:
    """Return a program (`handover.sh`, `gate.py`) without its comment lines and blank lines.

    The text is written into every manifest that runs it, where a person reads it in each difference. No string of
    these programs has a line that is blank or begins with `#`; a test holds that leaving such lines out changes
    nothing.
    """
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return "".join(f"{line}\n" for line in lines if line.strip() and not line.lstrip().startswith("#"))
