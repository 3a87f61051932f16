"""Generated runs in Kueue's queues: who admits them and onto which nodes, what they say of themselves meanwhile, and
what `suspend` in Git would do to them.

What was seen is recorded under `observed/kueue-0.17.0/`: the health checks of Argo CD are judged by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Final

import pytest

from tests.cluster.harness.client import Api, Body, Event, Watch
from tests.cluster.harness.nodes import fates
from tests.cluster.harness.operators import observe
from tests.cluster.harness.operators.kueue import API_VERSION, kueue
from tests.cluster.harness.operators.queues import (
    FLAVORS,
    KINDS,
    NAMESPACE,
    NODE,
    QUEUES,
    Queues,
    body,
    generated,
    pods_of,
    policy,
    states,
    surroundings,
    suspends,
    templates,
)
from tests.cluster.harness.operators.tier import Operators
from tests.cluster.harness.process import poll
from tests.cluster.report import Report

pytestmark = pytest.mark.operators

OPERATOR: Final = "kueue-0.17.0"
_SECONDS: Final = 40
SUSPEND: Final[Mapping[str, bool | None]] = {"absent": None, "false": False, "true": True}
"""What Git says of `suspend`."""


@pytest.fixture(scope="module")
def queues(operators_plane: Operators, report: Report, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queues]:
    """Start Kueue, and make all of a project but its runs: its LocalQueues, too, whose ClusterQueues are missing."""
    bodies = generated(tmp_path_factory.mktemp("queued"))
    with ExitStack() as stack:
        with report.timed("operators: Kueue's start"):
            stack.enter_context(kueue(operators_plane.plane))
        found = Queues(operators_plane, {item["kind"]: item for item in bodies if item["kind"] in KINDS})
        found.make(*(item for item in bodies if item["kind"] not in KINDS), *surroundings())
        yield found
        operators_plane.nodes.forget()


@pytest.fixture(scope="module")
def opened(queues: Queues) -> dict[str, list[str]]:
    """Make the ClusterQueues behind the generated LocalQueues; returns why these were closed before, and open then."""
    closed = {queue: _until(queues.api, queue, "ClusterQueueDoesNotExist") for queue in QUEUES.values()}
    for kind, queue in QUEUES.items():
        queues.room(queue, kind, FLAVORS[kind])
    return {queue: [*closed[queue], *_until(queues.api, queue, "Ready")] for queue in QUEUES.values()}


def _until(api: Api, queue: str, reason: str) -> list[str]:
    """Wait until a LocalQueue gives a reason for being open or not; returns what its condition Active then is."""
    poll(f"{queue}: {reason}", lambda: reason in _reasons(api, queue), _SECONDS)
    found = api.get(API_VERSION, "LocalQueue", NAMESPACE, queue)
    assert found is not None
    return [f"{row['type']}={row['status']}" for row in found["status"]["conditions"]]


def test_generated_queues_open(opened: dict[str, list[str]]) -> None:
    """A generated LocalQueue takes runs once the ClusterQueue of its name is there, and not before."""
    assert opened == {queue: ["Active=False", "Active=True"] for queue in QUEUES.values()}


@pytest.mark.parametrize("kind", KINDS)
def test_generated_runs_are_placed_by_their_flavor(
    kind: str, queues: Queues, opened: dict[str, list[str]], report: Report, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Generated as they are: one is admitted, onto its flavor's nodes; the next waits, and starts when there is room.

    Applying the generated file again, as every sync does, changes nothing of either.

    Public report: case 13.
    """
    first = queues.templates[kind]
    (second,) = (item for item in generated(tmp_path_factory.mktemp("again"), rerun=1) if item["kind"] == kind)
    names = [run["metadata"]["name"] for run in (first, second)]
    queues.fate(fates.run(), *names)
    queues.make(first)
    _assert_runs(queues, first)
    queues.make(second)
    _assert_waits(queues, second, FLAVORS[kind])
    table = report.table("Generated runs in a queue (Kueue 0.17.0)", "run", "queue", "nodes", "applied again")
    for run in (first, second):
        assert not _changed_by_git(queues, run), "what waits or runs is changed by a sync"
    _end(queues, first)
    _assert_runs(queues, second)
    for run in (first, second):
        assert not _changed_by_git(queues, run), "what has ended or runs is changed by a sync"
        name, flavor = run["metadata"]["name"], FLAVORS[kind]
        for template in templates(_stored(queues.api, run)):
            assert template["spec"]["nodeSelector"] == {NODE: flavor}
            assert [row["value"] for row in template["spec"]["tolerations"]] == [flavor]
        nodes = {pod["spec"]["nodeName"] for pod in queues.pods(name)}
        assert nodes == {flavor}
        table.add(name, QUEUES[kind], ", ".join(nodes), "nothing changes")
    _end(queues, second)


def _stored(api: Api, run: Body) -> Body:
    found = api.get(run["apiVersion"], run["kind"], NAMESPACE, run["metadata"]["name"])
    assert found is not None
    return found


def _changed_by_git(queues: Queues, run: Body) -> bool:
    """Apply a run as it is in Git, for good, and say whether that changed anything of what it wants."""
    before = _stored(queues.api, run)
    queues.make(run)
    after = _stored(queues.api, run)
    return (before["metadata"]["generation"], before["spec"]) != (after["metadata"]["generation"], after["spec"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_queue_that_leaves_git(kind: str, queues: Queues, report: Report) -> None:
    """Without its LocalQueue what runs goes on to its end; what waits stays suspended until there is one again."""
    queue = f"{kind.lower()}-left"
    queues.queue(queue, kind)
    first, second = (queues.run(kind, f"{queue}-{name}", queue) for name in ("first", "second"))
    queues.fate(fates.run(), *(run["metadata"]["name"] for run in (first, second)))
    queues.make(first)
    _assert_runs(queues, first)
    queues.make(second)
    _assert_waits(queues, second)
    pods = queues.running(first["metadata"]["name"])
    answer = queues.api.delete(body("LocalQueue", queue, {"clusterQueue": queue}))
    assert answer.accepted, answer.message
    poll(f"{queue}: gone", lambda: queues.api.get(API_VERSION, "LocalQueue", NAMESPACE, queue) is None, _SECONDS)
    assert queues.running(first["metadata"]["name"]) == pods
    _end(queues, first)
    name = second["metadata"]["name"]
    poll(f"{name}: Kueue's word", lambda: "LocalQueue" in (queues.reserved(name) or {}).get("message", ""), _SECONDS)
    assert queues.has(second, "Suspended")
    assert not queues.ever_had_pods(name)
    queues.queue(queue, kind)
    _assert_runs(queues, second)
    _end(queues, second)
    table = report.table("A LocalQueue that is deleted (Kueue 0.17.0)", "kind", "what runs", "what waits")
    table.add(kind, "runs to its end", "waits until there is one again")


@pytest.mark.parametrize("kind", KINDS)
def test_one_after_the_other(kind: str, queues: Queues, update_observed: bool, report: Report) -> None:
    """A run is suspended, admitted, runs and ends; one beyond the quota waits, suspended and without a pod."""
    queue = f"{kind.lower()}s"
    queues.queue(queue, kind)
    first, second = (queues.run(kind, f"{queue}-{name}", queue) for name in ("first", "second"))
    names = [run["metadata"]["name"] for run in (first, second)]
    queues.fate(fates.pend(), *names)  # so that each state is there long enough to be written
    with Watch(queues.api, KINDS[kind], kind, NAMESPACE) as watch:
        queues.make(first)
        _start(queues, first)
        queues.make(second)
        _assert_waits(queues, second)
        _end(queues, first)
        _start(queues, second)
        _end(queues, second)
        seen = {run["metadata"]["name"]: states(queues.seen(watch, run)) for run in (first, second)}
    title = f"What a {kind} says of itself in a queue of Kueue 0.17, alone and then beyond the quota; every change."
    bodies = [state for name in names for state in seen[name]]
    observe.compare(observe.fixture(f"{OPERATOR}/conditions", kind), title, bodies, update=update_observed)
    table = report.table("Runs in a queue with room for one (Kueue 0.17.0)", "run", "waits", "runs", "ends")
    for name in names:
        waits, runs, ends = (_words(seen[name][index]) for index in (1, 3 if kind == "Job" else 4, -1))
        table.add(name, waits, runs, ends)
        assert waits.startswith("suspend")
        # What a health check has to know: a run that runs has a Suspended condition still, which is False.
        assert "Suspended=False" in runs


def _start(queues: Queues, run: Body) -> None:
    """Wait until a run was admitted, and let its pods run."""
    name = run["metadata"]["name"]
    poll(f"{name}: its resumption", lambda: queues.has(run, "Suspended", "False"), _SECONDS)
    queues.fate(fates.run(), name)
    _assert_runs(queues, run)
    if run["kind"] != "Job":
        poll(f"{name}: running", lambda: queues.has(run, "Running"), _SECONDS)


def _assert_runs(queues: Queues, run: Body) -> None:
    """Wait until all pods of a run run."""
    name = run["metadata"]["name"]
    poll(f"{name}: its pods", lambda: len(queues.running(name)) == pods_of(run), _SECONDS)


def _end(queues: Queues, run: Body) -> None:
    """Let the pods of a run succeed, and wait for its end."""
    name = run["metadata"]["name"]
    queues.fate(fates.succeed(after=0), name)
    poll(f"{name}: its end", lambda: queues.has(run, "Complete" if run["kind"] == "Job" else "Succeeded"), _SECONDS)


def _assert_waits(queues: Queues, run: Body, flavor: str = "any") -> None:
    """Wait until Kueue has looked at a run: there is no quota for it, so it is suspended and has no pod."""
    name = run["metadata"]["name"]
    poll(f"{name}: Kueue's look at it", lambda: queues.reserved(name) is not None, _SECONDS)
    condition = queues.reserved(name)
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("False", "Pending")
    assert f"insufficient unused quota for cpu in flavor {flavor}" in condition["message"]
    poll(f"{name}: its suspension", lambda: queues.has(run, "Suspended"), _SECONDS)
    assert not queues.ever_had_pods(name)


def _words(state: Body) -> str:
    spec = state["spec"].get("runPolicy", state["spec"])
    rows = [f"{row['type']}={row['status']}" for row in state["status"]["conditions"]]
    return " ".join(["suspend" if spec["suspend"] else "resumed", *rows])


@pytest.mark.parametrize("kind", KINDS)
def test_suspend_in_git(kind: str, queues: Queues, update_observed: bool, report: Report) -> None:
    """What self-heal, which applies Git again, does to a run that runs and to one that waits; as recorded."""
    pairs = {}
    for word, suspend in SUSPEND.items():
        queue = f"{kind.lower()}-{word}"
        queues.queue(queue, kind)
        pairs[word] = [queues.run(kind, f"{queue}-{name}", queue, suspend) for name in ("runs", "waits")]
    queues.fate(fates.run(), *(run["metadata"]["name"] for pair in pairs.values() for run in pair))
    for first, _ in pairs.values():
        queues.make(first)
    for first, second in pairs.values():
        _assert_runs(queues, first)
        queues.make(second)
        _assert_waits(queues, second)
    seen = []
    with Watch(queues.api, KINDS[kind], kind, NAMESPACE) as watch:
        runs = [run["metadata"]["name"] for pair in pairs.values() for run in pair]
        poll("the watch", lambda: all(watch.of(name) for name in runs), _SECONDS)
        for word, (first, second) in pairs.items():
            seen += [_again_running(queues, watch, word, first), _again_waiting(queues, watch, word, second)]
    title = f"What becomes of a {kind} in a queue of Kueue 0.17 when what Git says of `suspend` is applied again."
    observe.compare(observe.fixture(f"{OPERATOR}/suspend-in-git", kind), title, seen, update=update_observed)
    table = report.table(
        "What applying Git again does to a run in a queue", "kind", "suspend in Git", "then", "its pods"
    )
    for row in seen:
        table.add(kind, row["inGit"], row["appliedAgain"], row["pods"])


def _again(queues: Queues, watch: Watch, run: Body, wanted: list[bool]) -> None:
    """Apply a run again, and wait until `suspend` has been what is wanted, one after the other."""
    name = run["metadata"]["name"]
    before = len(suspends(watch, name))
    answer = queues.api.apply(run)
    assert answer.accepted, answer.message
    assert bool(policy(answer.body).get("suspend")) is (wanted[1] if len(wanted) > 1 else wanted[0])
    poll(f"{name}: {wanted}", lambda: suspends(watch, name)[before - 1 :] == wanted, _SECONDS)


def _again_running(queues: Queues, watch: Watch, word: str, run: Body) -> Body:
    """Apply a run again while it runs, wait until Kueue has answered, and say what became of it."""
    name = run["metadata"]["name"]
    before = queues.running(name)
    _again(queues, watch, run, [False, True, False] if word == "true" else [False])
    if word == "true":
        poll(f"{name}: its new pods", lambda: len(queues.running(name) - before) == pods_of(run), _SECONDS)
        assert not queues.running(name) & before
    pods = "kept" if queues.running(name) == before else "killed and made anew"
    return {"inGit": word, "appliedAgain": "while it runs", "suspend": suspends(watch, name), "pods": pods}


def _again_waiting(queues: Queues, watch: Watch, word: str, run: Body) -> Body:
    """Apply a run again while it waits for quota, wait until Kueue has answered, and say what became of it.

    Where it is resumed, Kueue suspends it within milliseconds; whether there were pods is a race, which self-heal
    repeats until there are.
    """
    name = run["metadata"]["name"]
    wanted = [True, False, True] if word == "false" else [True]
    _again(queues, watch, run, wanted)
    seen = suspends(watch, name)
    while word == "false" and not queues.ever_had_pods(name):
        _again(queues, watch, run, wanted)
    poll(f"{name}: the end of its pods", lambda: not queues.pods(name), _SECONDS)
    pods = "started beyond the quota, then killed" if queues.ever_had_pods(name) else "none"
    return {"inGit": word, "appliedAgain": "while it waits", "suspend": seen, "pods": pods}


def test_a_queue_says_whether_it_takes_runs(queues: Queues, update_observed: bool) -> None:
    """A LocalQueue's condition without its ClusterQueue, with it, and when it is held; as recorded."""
    api, name, seen = queues.api, "said", []

    def after(reason: str) -> Body:
        poll(f"the queue: {reason}", lambda: reason in _reasons(api, name), _SECONDS)
        found = api.get(API_VERSION, "LocalQueue", NAMESPACE, name)
        assert found is not None
        (*_, status) = observe.statuses([Event(0, "MODIFIED", found)])
        head = {"apiVersion": API_VERSION, "kind": "LocalQueue", "metadata": {"name": name}}
        return {**head, "status": {"conditions": status["conditions"]}}

    queues.make(body("LocalQueue", name, {"clusterQueue": name}))
    seen.append(after("ClusterQueueDoesNotExist"))
    queues.queue(name, "Job")
    seen.append(after("Ready"))
    queues.make(body("LocalQueue", name, {"clusterQueue": name, "stopPolicy": "Hold"}))
    seen.append(after("Stopped"))
    title = "What a LocalQueue of Kueue 0.17 says of itself: without its ClusterQueue, with it, and held."
    observe.compare(observe.fixture(f"{OPERATOR}/conditions", "LocalQueue"), title, seen, update=update_observed)


def _reasons(api: Api, name: str) -> list[str]:
    found = api.get(API_VERSION, "LocalQueue", NAMESPACE, name) or {}
    return [row["reason"] for row in found.get("status", {}).get("conditions", [])]
