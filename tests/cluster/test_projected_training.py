"""What mlspec projects of jobs that no golden has, the real controllers make: whatever a patch may put into one.

The longest names that fit are really made, and of those that do not, the server refuses the Service.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from tests import jobs, stored, variants
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import namespace
from tests.cluster.harness.nodes import fates
from tests.cluster.harness.operators import observe
from tests.cluster.harness.operators.tier import Operators
from tests.cluster.harness.process import poll
from tests.cluster.report import Report

pytestmark = pytest.mark.operators

_TABLE: Final = "Jobs beside the goldens: projected, and made by the operator"
_LONGEST: Final[tuple[tuple[str, Mapping[str, int], int], ...]] = (
    ("Job", {}, 63),
    ("PyTorchJob", {"Master": 1, "Worker": 1}, 54),
    ("PyTorchJob", {"Master": 1, "Worker": 11}, 53),
    ("TFJob", {"Chief": 1}, 55),
    ("TFJob", {"Chief": 1, "Evaluator": 1}, 51),
)
"""Kind, pods by role, and the longest name that the job may have."""


def _long(kind: str, roles: Mapping[str, int], length: int) -> Body:
    name = f"{kind[0].lower()}{sum(roles.values())}-{length}-".ljust(length, "x")
    body = jobs.job(kind, name, roles, variants.NAMESPACE)
    for role in roles or ("",):
        jobs.template(body, role)["spec"] |= variants.POD
    return body


@pytest.fixture(scope="module")
def made(operators_plane: Operators) -> dict[str, list[Body]]:
    """Run all jobs side by side, and return what was made of each, by its name."""
    api = operators_plane.api
    bodies = [*map(variants.variant, variants.VARIANTS), *(_long(*case) for case in _LONGEST)]
    operators_plane.nodes.fate(fates.run())
    assert api.apply(namespace(variants.NAMESPACE)).accepted
    for body in bodies:
        answer = api.apply(body)
        assert answer.accepted, answer.message
    found = {body["metadata"]["name"]: _complete(api, body) for body in bodies}
    for body in bodies:
        api.delete(body)
    operators_plane.nodes.forget()
    return found


def _complete(api: Api, body: Body) -> list[Body]:
    """Return what is made of a job, once there is as much of it as is projected."""
    projection = jobs.resource(body).projection
    assert projection is not None
    metadata = body["metadata"]
    root = api.get(body["apiVersion"], body["kind"], metadata["namespace"], metadata["name"])
    assert root is not None
    found: list[Body] = []

    def there() -> bool:
        found[:] = observe.made(api, [root])
        return len(found) >= len(jobs.bodies(projection))

    poll(f"what belongs to {body['kind']} {metadata['name']}", there, 60, every=0.2)
    return found


def _cut(body: Body) -> Body:
    """Return an object whose `generateName` is what the server left of it in the name."""
    metadata = body["metadata"]
    cut = {"generateName": metadata["name"][:-5]} if "generateName" in metadata else {}
    return {**body, "metadata": {**metadata, **cut}}


def _compare(body: Body, made: Mapping[str, list[Body]]) -> list[Body]:
    projection = jobs.resource(body).projection
    assert projection is not None
    found = [stored.recorded(one) for one in observe.normal([_cut(one) for one in made[body["metadata"]["name"]]])]
    projected = stored.stored(jobs.bodies(projection))
    assert stored.differences(variants.in_order(projected), variants.in_order(found)) == []
    return found


@pytest.mark.parametrize("name", variants.VARIANTS)
def test_projected_is_what_is_made(name: str, made: Mapping[str, list[Body]], report: Report) -> None:
    body = variants.variant(name)
    found = _compare(body, made)
    kinds = [one["kind"] for one in found]
    table = report.counter(_TABLE, ("kind",), ("jobs", "pods", "services"))
    table.add((body["kind"],), (1, kinds.count("Pod"), kinds.count("Service")))


@pytest.mark.parametrize("name", variants.VARIANTS)
def test_as_recorded(name: str, made: Mapping[str, list[Body]], update_observed: bool) -> None:
    """What is made is what the fixtures hold, which the rest of the suite reads."""
    path = observe.fixture(variants.controller(name), name)
    title = f"What {observe.CONTROLLERS[variants.VARIANTS[name].kind]} makes of tests/variants.py {name}"
    observe.compare(path, title, variants.in_order(observe.normal(made[name])), update=update_observed)


@pytest.mark.parametrize(("kind", "roles", "length"), _LONGEST)
def test_the_longest_names_are_made(
    kind: str, roles: Mapping[str, int], length: int, made: Mapping[str, list[Body]]
) -> None:
    body = _long(kind, roles, length)
    assert list(jobs.faults(jobs.resource(body))) == []
    _compare(body, made)


@pytest.mark.parametrize(("kind", "roles", "length"), _LONGEST)
def test_one_character_more_is_not(
    kind: str, roles: Mapping[str, int], length: int, made: Mapping[str, list[Body]], operators_plane: Operators
) -> None:
    """A Job is refused itself; of other jobs a Service, which the operator would try to make for ever."""
    resource = jobs.resource(_long(kind, roles, length + 1))
    assert resource.projection is not None
    assert [fault.code for fault in jobs.faults(resource)] == ["MLS210"]
    bodies = resource.projection.services or (resource.body,)
    answers = [operators_plane.api.create(body, dry_run=True) for body in bodies]
    refused = [answer.message for answer in answers if not answer.accepted]
    assert refused
    assert all("must be no more than 63 " in message for message in refused), refused
