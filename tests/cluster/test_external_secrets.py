"""ExternalSecrets as a real API server keeps them, under the definitions of two releases of external-secrets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from mlspec.concerns.secrets import GROUP
from tests.cluster.harness import crds
from tests.cluster.harness.client import Body
from tests.cluster.harness.control_plane import ControlPlane, namespace
from tests.cluster.harness.goldens import compiled
from tests.cluster.test_accepted import differences
from tests.support import ENVIRONMENT, make_root

pytestmark = pytest.mark.api

_NEWEST: Final = {
    "package": "github.com/external-secrets/external-secrets",
    "version": "v1.3.2",
    "digest": "h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ=",
    "path": "config/crds/bases",
}
"""A later release than the one in `schemas/`, with the same v1."""
_PROJECT: Final = """\
secrets:
  hub: {keys: [token, endpoint], external: ml/hub}
  warehouse: {keys: [user, password, user], external: ml/warehouse}
"""


def _definition(release: str) -> Body:
    """Return the definition of ExternalSecrets in a release."""
    if release == "0.16":
        (found,) = crds.definitions("external-secrets-0.16")
        return found
    name = "external-secrets.io_externalsecrets.yaml"
    folder = crds.kept(f"external-secrets-{release}", _NEWEST, [name])
    return crds.read(folder, name)


def _written(tmp_path: Path) -> Sequence[Body]:
    root = make_root(tmp_path, _PROJECT, {"dev": ENVIRONMENT + "secretStore: {name: vault}\n"})
    (golden,) = compiled(root)
    return [body for body in golden.bodies if body["kind"] == "ExternalSecret"]


@pytest.mark.parametrize("release", ["0.16", "1.3"])
def test_lists_are_stored_as_they_are_written(api_plane: ControlPlane, tmp_path: Path, release: str) -> None:
    """Argo CD compares lists whole: what the server adds to an item of one would be a difference for ever.

    Public report: case 10.
    """
    api = api_plane.api
    crds.establish(api, [_definition(release)])
    assert api.apply(namespace("demo-dev")).accepted
    bodies = _written(tmp_path)
    assert [body["metadata"]["name"] for body in bodies] == ["hub", "warehouse"]
    for body in bodies:
        answer = api.apply(body)
        assert answer.accepted, answer.message
        assert not answer.warnings
        assert not list(differences(body, answer.body))
        assert answer.body["spec"]["data"] == body["spec"]["data"]
        # What the server adds stands in maps, and is nobody's in Git.
        assert answer.body["spec"].keys() - body["spec"].keys() == {"refreshInterval"}
        assert answer.body["spec"]["target"] == body["spec"]["target"]
        api.delete(body)


def test_without_the_defaults_the_server_adds_them(api_plane: ControlPlane, tmp_path: Path) -> None:
    """What is written out is needed: left out, the stored list is another one."""
    api = api_plane.api
    crds.establish(api, [_definition("0.16")])
    assert api.apply(namespace("demo-dev")).accepted
    body = _written(tmp_path)[0]
    for row in body["spec"]["data"]:
        row["remoteRef"] = {key: row["remoteRef"][key] for key in ("key", "property")}
    answer = api.apply(body)
    assert answer.accepted, answer.message
    assert answer.body["spec"]["data"] != body["spec"]["data"]
    assert body["apiVersion"] == f"{GROUP}/v1"
    api.delete(body)
