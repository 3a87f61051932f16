"""Data sets that several tests train on, and a way to call ddp.py without starting a process for it."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

import pytest

from tests.training import data, driver
from tests.training.launch import SET_BY_LAUNCHERS


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data set of 600 small images in three shards, and 101 held out."""
    return data.synthetic(tmp_path_factory.mktemp("synthetic") / "dataset")


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return scikit-learn's digits."""
    return data.digits(tmp_path_factory.mktemp("digits") / "dataset")


@dataclass(frozen=True)
class Called:
    """How a call ended: exit status, events, lines on stderr."""

    code: int
    events: list[dict[str, Any]]
    errors: list[str]

    def said(self, event: str) -> list[dict[str, Any]]:
        """Return the events of that name."""
        return [found for found in self.events if found["event"] == event]


class _EndedError(BaseException):
    pass


def _end(code: int) -> NoReturn:
    raise _EndedError(code)


@functools.cache
def _program() -> ModuleType:
    import torch

    torch.set_num_threads(1)
    return driver.program()


@pytest.fixture
def ddp(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return ddp.py as a module that neither takes signals nor ends the process, in an environment with no launcher."""
    module = _program()
    for name in [name for name in os.environ if name.startswith(SET_BY_LAUNCHERS)]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(module, "Stop", lambda: SimpleNamespace(signal=0, listen=lambda: None))
    monkeypatch.setattr(module.os, "_exit", _end)
    monkeypatch.setattr(module.signal, "signal", lambda *_: None)
    monkeypatch.setattr(module.sys, "argv", ["ddp.py"])
    return module


@pytest.fixture
def call(ddp: ModuleType, capsys: pytest.CaptureFixture[str]) -> Callable[..., Called]:
    """Return a function that calls ddp.py with arguments, as one process."""

    def called(*arguments: object) -> Called:
        capsys.readouterr()
        with pytest.raises((_EndedError, SystemExit)) as ended:  # the latter by argparse
            ddp.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Called(ended.value.args[0], [json.loads(line) for line in out.splitlines()], err.splitlines())

    return called
