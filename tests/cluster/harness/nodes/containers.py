"""Plays the kubelet for pods whose fate is to be played: their first containers run, as processes of the cell.

Each pod's command is started as its spec says, with its variables and volumes, in a root of its own (`runtime.py`);
shells are real, other programs are stand-ins (`programs.py`). What comes of it is written into the pod's status. Init
containers and containers beside the first are not played. A container that restarts waits less than a kubelet lets it.
"""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path
from typing import Final

import httpx

from tests.cluster.harness.cell import Cell
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.nodes import container_spec, fates, stand_in
from tests.cluster.harness.nodes.container_spec import Bind, Claims, NotReady
from tests.cluster.harness.nodes.engine import PYTHON, Runtime, short
from tests.cluster.harness.nodes.played import GRACE, PlayedPod, ended_status, grace, now, restarted_status
from tests.cluster.harness.nodes.programs import Programs, of

_BIN: Final = f"{stand_in.HOME}/bin"
_PATH: Final = f"{_BIN}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_BACK_OFF: Final = (0.2, 2.0)
"""Seconds before the first restart, doubled each time up to the second number; a kubelet: 10 and 300."""
_RETRY: Final = 0.2
_GONE: Final = (httpx.codes.OK, httpx.codes.NOT_FOUND, httpx.codes.CONFLICT)
"""Answers to a change of a pod: done, or there is no such pod, or another one of its name."""
_FOLDERS: Final = ("usr", "etc", "bin", "sbin", "lib", "lib32", "lib64")


class Containers:
    """The played pods; made by `nodes`, started by the first rule that asks for it."""

    def __init__(self, cell: Cell, api: Api) -> None:
        """Begin with nothing."""
        self.programs = Programs()
        self.claims = Claims(cell.folder, api)
        self._cell, self._api = cell, api
        self._folder = cell.folder / "containers"
        self._runtime: Runtime | None = None
        self._pods: dict[str, PlayedPod] = {}
        self._leaving: set[str] = set()
        self._removals: list[threading.Thread] = []
        self._failed: dict[str, HarnessError] = {}
        self._lock = threading.RLock()

    def start(self) -> None:
        """Be ready for pods; nothing happens the second time.

        Raises:
            HarnessError: no private mount table can be made here.
        """
        with self._lock:
            if self._runtime is None:
                self._folder.mkdir()
                stand_in_text = Path(stand_in.__file__).read_text()
                (self._folder / "stand-in").write_text(f"#!{PYTHON} -IS\n{stand_in_text}")
                (self._folder / "stand-in").chmod(0o755)
                (self._folder / "root").mkdir()
                self.programs.listen(short(self._folder / "programs"))
                self._runtime = Runtime(self._cell, short(self._folder / "runtime"))

    def close(self) -> None:
        """Kill what runs, and write no more about it."""
        with self._lock:
            pods, self._pods = list(self._pods.values()), {}
        for pod in pods:
            pod.end(0, silent=True)
        for thread in self._removals:
            thread.join(GRACE)
        for pod in pods:
            pod.join()
        self.programs.close()
        if self._runtime is not None:
            self._runtime.close()

    def check(self, namespace: str) -> None:
        """Raise HarnessError if a pod of a namespace could not be played."""
        if namespace in self._failed:
            raise self._failed[namespace]

    def logs(self, namespace: str, name: str = "") -> str:
        """Return what the containers of a namespace have printed, of a step, a service's gate or a pod (or of all)."""
        found = sorted(self._logs(namespace).glob("*.log"), key=lambda path: path.stat().st_mtime_ns)
        chosen = [path for path in found if name in {"", *path.name.removesuffix(".log").split("~")[:2]}]
        return "".join(f"==> {path.name.split('~')[1]}\n{path.read_text(errors='replace')}" for path in chosen)

    def claim(self, namespace: str, name: str) -> Path:
        """Return the folder of a claim, which a pod has mounted."""
        return self._cell.folder / "claims" / namespace / name

    def see(self, change: str, pod: Body) -> None:
        """Take note of a change of a pod: start it, end it, or take it away."""
        if self._runtime is None:
            return
        about, phase = pod["metadata"], pod["status"].get("phase")
        uid, playing = about["uid"], about.get("annotations", {}).get(f"{fates.PREFIX}fate") == fates.play().end
        with self._lock:
            known = self._pods.get(uid)
            if change == "DELETED" or (known and not playing):
                self._pods.pop(uid, None)
                if known:
                    known.end(0 if change == "DELETED" else grace(pod), silent=True)
            elif playing and "deletionTimestamp" in about:
                self._take_away(pod, known)
            elif playing and known is None and phase == "Running":
                self._pods[uid] = PlayedPod(self._play, pod)
            elif known and phase in {"Succeeded", "Failed"}:
                known.end(grace(pod), silent=True)  # it ended, or its deadline did: kwok says so
            elif known:
                known.body["status"] = pod["status"]

    def _take_away(self, pod: Body, known: PlayedPod | None) -> None:
        """End a pod that was deleted, and then let the server forget it."""
        uid = pod["metadata"]["uid"]
        if uid not in self._leaving:
            self._leaving.add(uid)
            thread = threading.Thread(target=self._remove, args=(pod, known), name="removal", daemon=True)
            self._removals.append(thread)
            thread.start()

    def _play(self, pod: PlayedPod) -> None:
        """Lead a pod from its start to its end; in a thread of its own."""
        try:
            self._lead(pod)
        except (HarnessError, OSError, httpx.HTTPError) as error:
            self._fail(pod.body, error)

    def _fail(self, pod: Body, error: Exception) -> None:
        about = pod["metadata"]
        failure = HarnessError("containers", f"pod {about['name']} cannot be played: {error}", self._cell.logs / "pods")
        self._failed.setdefault(about["namespace"], failure)

    def _lead(self, pod: PlayedPod) -> None:
        policy = pod.body["spec"].get("restartPolicy", "Always")
        restarts, wait = 0, _BACK_OFF[0]
        while (request := self._request(pod, restarts)) is not None:
            began = now()
            code = self._run(pod, request)
            end = {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": began}
            end["finishedAt"] = now()
            if pod.silent:
                return
            if pod.ending or policy == "Never" or (policy == "OnFailure" and code == 0):
                self._write(pod, ended_status(pod.body, end, restarts))
                return
            restarts += 1
            self._write(pod, restarted_status(pod.body, end, restarts))
            pod.wait(wait)
            wait = min(2 * wait, _BACK_OFF[1])

    def _run(self, pod: PlayedPod, request: Body) -> int:
        """Run a container to its end; returns its status."""
        runtime = self._runtime
        assert runtime is not None
        name, argv = request["name"], request["argv"]
        self.programs.expect(name, pod.body)
        real = container_spec.is_python_text(argv)
        run = self.programs.begin(name, tuple(argv), request["env"], frozenset()) if real else None
        runtime.ask(request, pod.ended)
        code = pod.wait_for_end(lambda number: runtime.signal(name, number))
        if run is not None:
            self.programs.end(name, run, code)
        return code

    def _request(self, pod: PlayedPod, restarts: int) -> Body | None:
        """Return what the runtime is asked for, as soon as all that is mounted is there; None if the pod goes first."""
        while not pod.ending:
            try:
                return self._described(pod.body, restarts)
            except NotReady:
                pod.wait(_RETRY)
        return None

    def _described(self, pod: Body, restarts: int) -> Body:
        about, container = pod["metadata"], pod["spec"]["containers"][0]
        name, folder = f"{about['uid']}-{restarts}", self._folder / "pods" / about["uid"]
        own = container_spec.environment(pod, container, self._api)
        words = [container_spec.expand(word, own) for word in container.get("command") or [f"{_BIN}/entrypoint"]]
        words += [container_spec.expand(word, own) for word in container.get("args") or []]
        mounts = container_spec.binds(pod, container, own, folder, self.claims)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "name").write_text(name)
        logs = self._logs(about["namespace"])
        logs.mkdir(parents=True, exist_ok=True)
        ours = [
            (str(self._folder / "stand-in"), f"{stand_in.HOME}/stand-in", True),
            (str(self._folder / "programs"), f"{stand_in.HOME}/socket", False),
            (str(folder / "name"), f"{stand_in.HOME}/container", True),
        ]
        return {
            "name": name,
            "root": str(self._folder / "root"),
            "binds": [*_host_folders(), *ours, *mounts, *self._program(words)],
            "links": _links(words),
            "read_only": container.get("securityContext", {}).get("readOnlyRootFilesystem", False),
            "argv": words,
            "env": {"PATH": _PATH, "HOME": "/root", "HOSTNAME": about["name"], **own},
            "cwd": container.get("workingDir") or "/",
            "log": str(logs / f"{of(pod)}~{about['name']}~{about['uid']}.log"),
        }

    def _program(self, words: list[str]) -> list[Bind]:
        """Return the stand-in at the place where a command has its program, if it names a place."""
        program = container_spec.missing_program(words)
        return [(str(self._folder / "stand-in"), program, True)] if program.startswith("/") else []

    def _logs(self, namespace: str) -> Path:
        return self._cell.logs / "pods" / namespace

    def _write(self, pod: PlayedPod, status: Body) -> None:
        """Write a status; a pod that is gone, or another one of its name, needs none."""
        body = {"metadata": {"uid": pod.body["metadata"]["uid"]}, "status": status}
        path = f"{self._api.path_of(pod.body)}/status"
        answer = self._api.request("PATCH", path, body, content_type="application/strategic-merge-patch+json")
        if answer.status not in _GONE:
            raise HarnessError("kube-apiserver", f"its status is refused: {answer.message}")

    def _remove(self, pod: Body, known: PlayedPod | None) -> None:
        if known is not None:
            known.end(grace(pod))
            known.join()
        about = pod["metadata"]
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": about["uid"]}}
        path = self._api.path("v1", "Pod", about["namespace"], about["name"])
        try:
            answer = self._api.request("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", **options})
            if answer.status not in _GONE:
                raise HarnessError("kube-apiserver", f"its removal is refused: {answer.message}")
        except (HarnessError, httpx.HTTPError) as error:
            self._fail(pod, error)
        shutil.rmtree(self._folder / "pods" / about["uid"], ignore_errors=True)


def _host_folders() -> list[Bind]:
    """Return the folders that every container has from this machine, to be read only."""
    names = [Path("/", name) for name in _FOLDERS]
    folders = [path for path in names if path.is_dir() and not path.is_symlink()]
    prefix = Path(sys.base_prefix).resolve()
    folders += [] if prefix.is_relative_to("/usr") else [prefix]
    return [(str(path), str(path), True) for path in folders]


def _links(words: list[str]) -> dict[str, str]:
    """Return the symbolic links of a container: this machine's in its root, and its program in the PATH."""
    names = [Path("/", name) for name in _FOLDERS]
    found = {str(path): str(path.readlink()).lstrip("/") for path in names if path.is_symlink()}
    if container_spec.is_python_text(words):
        return {**found, f"{_BIN}/{Path(words[0]).name}": str(PYTHON)}
    program = container_spec.missing_program(words)
    return {**found, f"{_BIN}/{program}": f"{stand_in.HOME}/stand-in"} if program and "/" not in program else found
