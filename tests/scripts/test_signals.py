"""The hand-over and signals: passed on, never mistaken for the end, also as process 1, also at the worst moment."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from tests.scripts.shells import HURRIED, SHIPPED, Shell, Started, hurried

_LISTENER = """
import os, signal, time
def heard(number, frame):
    os.write(1, b"heard " + signal.Signals(number).name.encode())
    os._exit(7)
for name in ("HUP", "INT", "QUIT", "USR1", "USR2", "TERM"):
    signal.signal(getattr(signal, "SIG" + name), heard)
os.write(1, b"ready ")
for _ in range(1500):
    time.sleep(0.02)  # Python calls a handler between two steps; one long sleep might begin just after the signal
"""
_Found = TypeVar("_Found")

_SETTLED = 0.05
"""Seconds after which bash waits for the program: what comes as it begins to, it notices only with the next signal."""

_DEAF = "trap '' TERM; echo ready; read -r line; exit "


@pytest.mark.parametrize("name", ["TERM", "HUP", "USR1", "USR2", "INT", "QUIT"])
def test_a_signal_reaches_the_program(name: str, shell: Shell, variables: dict[str, str], run_folder: Path) -> None:
    started = shell.start(sys.executable, "-I", "-S", "-c", _LISTENER, env=variables)
    started.until("ready")
    time.sleep(_SETTLED)
    started.send(name)
    assert started.status() == 7
    # A program in the background ignores these two.
    expected = name if name not in ("INT", "QUIT") else "TERM"
    assert started.output == f"ready heard SIG{expected}".encode()
    assert list(run_folder.iterdir()) == []


@pytest.mark.parametrize(("name", "status"), [("TERM", 143), ("HUP", 129), ("USR1", 138), ("INT", 130)])
def test_a_program_without_handlers_ends_by_the_signal(name: str, status: int, shell: Shell) -> None:
    started = shell.start("sh", "-c", "echo ready; exec sleep 30")
    started.until("ready")
    time.sleep(_SETTLED)
    started.send(name)
    assert started.status() == (status if name != "INT" else 143)


def test_each_of_several_signals_is_passed_on(shell: Shell, variables: dict[str, str], run_folder: Path) -> None:
    program = (
        "import os, select, signal\n"
        "signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b'saved '))\n"
        "signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'asked '))\n"
        "os.write(1, b'ready ')\n"
        "while not select.select([0], [], [], 0.02)[0]: pass\n"
    )
    started = shell.start(sys.executable, "-I", "-S", "-c", program, env=variables)
    started.until("ready")
    time.sleep(_SETTLED)
    expected = "ready "
    for name, answer in (("USR1", "saved "), ("TERM", "asked "), ("TERM", "asked "), ("USR1", "saved ")):
        started.send(name)
        expected += answer
        started.until(expected)
    # It took its time after being asked: still there, and its own status counts.
    assert started.process.poll() is None
    started.feed(b"\n")
    assert started.status() == 0
    assert (run_folder / "_SUCCESS").is_file()


def test_a_stopped_program_is_not_an_ended_one(shell: Shell) -> None:
    started = shell.start("sh", "-c", "echo $$ ready; read -r line; exit 4")
    started.until("ready")
    program = int(started.output.split()[0])
    subprocess.run(["kill", "-s", "STOP", str(program)], check=True)
    _until(lambda: _state(program) == "T")
    assert started.process.poll() is None
    subprocess.run(["kill", "-s", "CONT", str(program)], check=True)
    started.feed(b"\n")
    assert started.status() == 4


def _state(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def _until(holds: Callable[[], bool], pause: float = 0.005) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(pause)


@pytest.mark.parametrize(("name", "status"), [("TERM", 143), ("INT", 130), ("HUP", 129), ("QUIT", 131)])
def test_waiting_ends_at_once(
    name: str, status: int, shell: Shell, variables: dict[str, str], run_folder: Path, tmp_path: Path
) -> None:
    started = shell.start("echo", "begun", inputs=[tmp_path], env=variables, text=SHIPPED)
    started.until("waiting for")
    before = time.monotonic()
    started.send(name)
    assert started.status() == status
    assert time.monotonic() - before < 1.5  # it looks every 2 s
    assert (started.output, run_folder.exists()) == (b"", False)


def _as_process_1() -> list[str] | None:
    """Return words before a command that run it as process 1 of a table of its own, None where that is not allowed."""
    unshare = shutil.which("unshare")
    for user in ((), ("--user", "--map-root-user")):
        words = [unshare or "unshare", *user, "--pid", "--fork", "--kill-child", "--"]
        if unshare and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
            return words
    return None


def _child(process: int) -> int:
    children = Path(f"/proc/{process}/task/{process}/children")
    _until(lambda: bool(children.read_text().split()))
    return int(children.read_text().split()[0])


@pytest.mark.parametrize("waiting", [True, False])
def test_process_1_hears_signals(
    waiting: bool, shell: Shell, variables: dict[str, str], run_folder: Path, tmp_path: Path
) -> None:
    within = _as_process_1()
    if within is None:
        pytest.skip("process 1 needs root or user namespaces, and neither is to be had here")
    text = SHIPPED if waiting else HURRIED
    program = ("sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done")
    started = shell.start(*program, inputs=[tmp_path] if waiting else [], env=variables, text=text, within=within)
    started.until("waiting for" if waiting else "ready")
    time.sleep(_SETTLED)
    subprocess.run(["kill", "-s", "TERM", str(_child(started.process.pid))], check=True)
    assert started.status() == (143 if waiting else 5)
    assert not (run_folder / "_SUCCESS").exists()


def _many(one: Callable[[int], _Found]) -> list[_Found]:
    """Do something fifty times, some at once."""
    with ThreadPoolExecutor(6) as pool:
        return list(pool.map(one, range(50)))


def test_a_signal_while_the_program_starts_is_not_lost(shell: Shell, variables: dict[str, str], tmp_path: Path) -> None:
    def once(number: int) -> int:
        # The last thing before the start that can be seen from outside is the run directory.
        folder = tmp_path / str(number)
        started = shell.start("sleep", "30", env={**variables, "MLSPEC_RUN_DIR": str(folder)}, text=hurried(0.2))
        _until(folder.exists, pause=0.0001)
        time.sleep(number * 0.0002)
        started.send("TERM")
        with contextlib.suppress(subprocess.TimeoutExpired):
            return started.status(5)
        assert shell.name.startswith(
            "bash"
        )  # see _SETTLED; in a pod the next signal is the KILL after the grace period
        started.send("TERM")
        return started.status()

    assert set(_many(once)) == {143}


def test_a_signal_while_the_program_ends_changes_no_status(
    shell: Shell, variables: dict[str, str], tmp_path: Path
) -> None:
    def once(number: int) -> tuple[int, int]:
        wanted = (0, 7)[number % 2]
        folder = tmp_path / str(number)
        started = shell.start("sh", "-c", _DEAF + str(wanted), env={**variables, "MLSPEC_RUN_DIR": str(folder)})
        started.until("ready")
        time.sleep(_SETTLED)
        started.feed(b"\n")
        time.sleep(number * 0.0001)
        _send_if_there(started)
        status = started.status()
        assert (folder / "_SUCCESS").exists() is (status == 0)
        return wanted, status

    # bash may lose a status in that instant for good; the run then counts as ended by the signal, never as a success.
    lost = {(0, 143), (7, 143)} if shell.name.startswith("bash") else set()
    found = set(_many(once))
    assert found >= {(0, 0), (7, 7)}
    assert found <= {(0, 0), (7, 7)} | lost


def _send_if_there(started: Started) -> None:
    if started.process.poll() is None:
        started.process.send_signal(signal.SIGTERM)
