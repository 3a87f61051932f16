"""Law 9 under real kills: 25 at random moments, two processes at once among them, most of them in the writing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import kills
from tests.support import REPOSITORY


def test_killed_at_random_moments_it_converges(capsys: pytest.CaptureFixture[str]) -> None:
    """A process of its own forks those that are killed: pytest may have threads."""
    command = [sys.executable, "-m", kills.__name__, "--count", "25", "--enough", "10"]
    result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=280)
    assert result.returncode == 0, result.stderr[-2000:]
    fell = json.loads(result.stdout)
    with capsys.disabled():
        sys.stdout.write(f"\nkills: {result.stdout}")
    assert fell["kills"] >= 25
    assert fell["during"] >= 10
    assert fell["two at once"] >= 5


def test_a_file_that_is_written_in_place_is_found(tmp_path: Path) -> None:
    """What the kills look for can be seen: half a file in place of a whole one."""
    before, after = {"p/a.yaml": b"old\n"}, {"p/a.yaml": b"new and longer\n"}
    (tmp_path / "generated/p").mkdir(parents=True)
    (tmp_path / "generated/p/a.yaml").write_bytes(b"new a")
    with pytest.raises(kills.LeftBehindError, match="neither old nor new"):
        kills._check(tmp_path, before, after)
