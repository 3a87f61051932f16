"""A project's steps on this computer, one after the other: what is done already is left, what fails ends the rest."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from mlspec.ir import Plan
from mlspec.local import computer, launch, outcome
from mlspec.local.computer import Interpreter
from mlspec.local.containers import Program, Setting, program
from mlspec.local.errors import CannotRunError
from mlspec.local.folders import Folders
from mlspec.local.graph import LocalRun
from mlspec.local.launch import Here
from mlspec.local.processes import Stop
from mlspec.local.progress import Progress, plain
from mlspec.local.running import Ended, start_and_wait, tail

Say = Callable[[str], object]
_INSTALL: Final = "pip install 'mlspec-gitops[train]'"


@dataclass(slots=True)
class Local:
    """One call of `mlspec run`."""

    plan: Plan
    runs: Sequence[LocalRun]
    folders: Folders
    interpreter: Interpreter
    asked: int | None
    """Processes that were asked for."""
    say: Say
    done: list[str] = field(default_factory=list)
    """Steps that have succeeded, now or before."""
    failed: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Steps that were not run because of one that failed."""

    def check(self) -> None:
        """Find what cannot run before anything does; raises CannotRunError with all of it."""
        problems: list[str] = []
        for run in self._open():
            try:
                _programs(run, self._setting(run, ports=False))
            except CannotRunError as error:
                problems += error.messages
        if not problems and any(run.distributed for run in self._open()) and not self.interpreter.has("torch"):
            problems.append(f"torch is not installed beside {self.interpreter.path}: {_INSTALL}")
        if problems:
            raise CannotRunError(*dict.fromkeys(problems))

    def tell(self) -> None:
        """Say what is not as in the cluster."""
        self.say(f"images are not used: python, python3 and torchrun are those of {self.interpreter.path}")
        mounted = {mount.claim for run in self.runs for mount in run.workload.mounts}
        for claim in self.plan.claims:
            if claim in mounted and self.folders.is_empty(claim):
                there = self.folders.shown(self.folders.volume_path(claim))
                self.say(f"claim `{claim}` is made elsewhere in the cluster; here it is {there}, which is empty")

    def run(self, lock: int) -> int:
        """Run the steps; returns the exit code, that of a signal where one came."""
        with Stop() as stop:
            for run in self.runs:
                if set(run.workload.needs) & {*self.failed, *self.left_out}:
                    self.left_out.append(run.step)
                    continue
                code = self._one(run, lock, stop)
                (self.failed if code else self.done).append(run.step)
                if stop.count:
                    return stop.code
        return 1 if self.failed else 0

    def _open(self) -> Iterable[LocalRun]:
        return (run for run in self.runs if not outcome.succeeded(run, self.folders, self.plan.project))

    def _one(self, run: LocalRun, lock: int, stop: Stop) -> int:
        known = outcome.succeeded(run, self.folders, self.plan.project)
        progress = Progress(run.step)
        if known:
            (self.folders.work(run.name)).mkdir(parents=True, exist_ok=True)
        else:
            self.folders.afresh(run.name, run.workload.run.files)
        setting = self._setting(run, ports=True)
        if not known:
            progress.say(self._beginning(run, setting))
        try:
            programs = _programs(run, setting)
            ended = start_and_wait(run, programs, self.folders, lock, stop, _Silent(run.step) if known else progress)
        except (OSError, subprocess.SubprocessError) as error:
            progress.say(f"cannot be started: {error}")
            return 1
        self._tell_end(run, ended, progress, known=known)
        return ended.code

    def _tell_end(self, run: LocalRun, ended: Ended, progress: Progress, *, known: bool) -> None:
        if ended.stopped:
            progress.say("stopped; `mlspec run` continues where it was")
        elif ended.code:
            log, lines = tail(ended.log, self.folders.logs(run.name) / "ranks")
            progress.say(f"failed with exit code {ended.code}; the end of {self.folders.shown(log)}:")
            for line in lines:
                self.say(f"  | {plain(line)}")
        else:
            progress.say(f"up to date ({run.name})" if known else f"done ({run.name})")

    def _beginning(self, run: LocalRun, setting: Setting) -> str:
        if not run.distributed:
            return "starts" if len(run.pods) == 1 else f"starts, {len(run.pods)} processes for as many pods"
        here = setting.here.processes
        text = f"starts, {here} process{'es' if here > 1 else ''}"
        if here != run.wanted:
            text += f" where the spec has {run.wanted}"
            text += "" if self.asked else f" (this computer has {computer.cores()} cores, {computer.gpus()} GPUs)"
        return text

    def _setting(self, run: LocalRun, *, ports: bool) -> Setting:
        """Return what a run is given; its ports are looked for only where it is started."""
        hosts = sorted({host for pod in run.pods for host in _hosts(pod)})
        there = computer.gpus() if run.gpus else 0
        processes = self._processes(run, there)
        found = computer.free_ports(1 + len(hosts)) if ports else [1] * (1 + len(hosts))
        path = self.interpreter.put_first(self.folders.programs())
        here = Here(processes, found[0])
        # Where there are fewer GPUs than processes, two would share one, which NCCL refuses: the CPU is for all.
        gpus = there > 0 and there >= processes
        return Setting(self.folders, path, here, dict(zip(hosts, found[1:], strict=True)), gpus)

    def _processes(self, run: LocalRun, gpus: int) -> int:
        if not run.distributed:
            return 1
        return self.asked or launch.divided(run.wanted, gpus or computer.cores())


class _Silent(Progress):
    """The reports on a run that has nothing to do."""

    def line(self, text: str, who: str = "") -> None:
        """Leave out what the wrapper says."""


def _programs(run: LocalRun, setting: Setting) -> list[Program]:
    return [program(run, pod, setting) for pod in run.pods]


def _hosts(pod: dict[str, object]) -> list[str]:
    """Return the addresses of a TFJob that a pod knows."""
    spec = pod["spec"]
    assert isinstance(spec, dict)  # noqa: S101  # a projected pod has one
    return [
        host
        for container in spec["containers"]
        for entry in container.get("env", ())
        if entry["name"] == launch.TF_CONFIG and entry.get("value")
        for host in launch.tf_hosts(entry["value"])
    ]
