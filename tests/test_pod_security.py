"""The Pod Security Standards: judged as Kubernetes judges the pods of its own tests, and those that operators made."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mlspec import pod_security, yamltext
from mlspec.model.levels import Level
from mlspec.pod_security.standard import UNREAD, controls, judged_afresh
from tests.cluster.harness.operators import observe
from tests.support import REPOSITORY
from tests.tools.pod_security import RELEASES, FetchError, Fixtures, fetch

Body = dict[str, Any]
_NEWEST: Final = 37
_OBSERVED: Final = REPOSITORY / "tests/cluster/observed"
_CONTROLS: Final = {
    "allowprivilegeescalation": {"allowPrivilegeEscalation != false"},
    "apparmorprofile": {"forbidden AppArmor profile"},
    "capabilities_baseline": {"non-default capabilities", "unrestricted capabilities"},
    "capabilities_restricted": {"unrestricted capabilities"},
    "hostnamespaces": {"host namespaces"},
    "hostpathvolumes": {"hostPath volumes", "restricted volume types"},
    "hostports": {"hostPort"},
    "hostprobesandhostlifecycle": {"probe or lifecycle host"},
    "privileged": {"privileged"},
    "procmount": {"procMount"},
    "procmount_restricted": {"procMount"},
    "restrictedvolumes": {"restricted volume types"},
    "runasnonroot": {"runAsNonRoot != true"},
    "runasuser": {"runAsUser=0"},
    "seccompprofile_baseline": {"seccompProfile"},
    "seccompprofile_restricted": {"seccompProfile"},
    "selinuxoptions": {"seLinuxOptions"},
    "sysctls": {"forbidden sysctls"},
    "windowshostprocess": {"hostProcess"},
}
"""What the name of a file says is wrong with its pod, as our controls are called; one is replaced by another above."""


@cache
def _parsed(text: str) -> Body:
    """Most pods are the same in many versions, so each text is read once."""
    found = yaml.load(text, yaml.CSafeLoader)
    assert isinstance(found, dict)
    return found


def _minor(version: str) -> int:
    return int(version.removeprefix("v1."))


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.version)
def test_upstream_pods_are_judged_as_upstream(release: Fixtures) -> None:
    """Every pod of Kubernetes' own tests: allowed or refused as there, and refused for what its name says."""
    try:
        folder = fetch(release)
    except FetchError as error:
        pytest.fail(f"the pods that Kubernetes judges its admission with: {error}")
    wrong, judged, found_by = [], 0, Counter[str]()
    for path in sorted(folder.rglob("*.yaml")):
        level, version, expected, name = path.relative_to(folder).parts
        assert level in ("baseline", "restricted"), path
        found = pod_security.violations(_parsed(path.read_text()), level, _minor(version))  # type: ignore[arg-type]
        names = {violation.control for violation in found}
        of_name = _CONTROLS[re.sub(r"[0-9]*\.yaml", "", name)] if expected == "fail" else set()
        if bool(found) != (expected == "fail") or (of_name and not names & of_name):
            wrong.append(f"{path.relative_to(folder)}: {found}")
        judged += 1
        found_by.update(names)
    assert wrong == []
    assert judged == release.count
    everything = {control.name for minor in range(_NEWEST + 1) for control in controls("restricted", minor)}
    everything |= {control.name for minor in range(_NEWEST + 1) for control in controls("baseline", minor)}
    assert set(found_by) == everything, "a control that no pod of Kubernetes' tests is refused by"


def test_checksums_are_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pods of another origin are not taken for Kubernetes' own."""
    monkeypatch.setattr("tests.tools.pod_security._FOLDER", tmp_path)
    with pytest.raises(FetchError, match="not h1:other"):
        fetch(Fixtures(RELEASES[0].version, "h1:other", 1))


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without Go, or without a proxy that has the module, the tests fail and say so; what was fetched is kept."""
    monkeypatch.setattr("tests.tools.pod_security._FOLDER", tmp_path / "tools")
    monkeypatch.setenv("GOPROXY", "off")
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modules"))
    with pytest.raises(FetchError, match="module lookup disabled by GOPROXY=off"):
        fetch(RELEASES[0])
    monkeypatch.setattr("tests.tools.golang.find", lambda: None)
    with pytest.raises(FetchError, match="there is no Go on PATH"):
        fetch(RELEASES[0])
    RELEASES[0].folder.mkdir(parents=True)
    assert fetch(RELEASES[0]) == RELEASES[0].folder


_CLEAN: Final[Body] = {
    "metadata": {"name": "clean"},
    "spec": {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "main",
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    },
}


def _with(**fields: Any) -> Body:
    return {"metadata": _CLEAN["metadata"], "spec": {**_CLEAN["spec"], **fields}}


_CASES: Final[dict[str, tuple[Body, int, Level]]] = {
    "clean": (_CLEAN, 34, "restricted"),
    "empty": ({}, 34, "restricted"),
    "ephemeral-container": (_with(ephemeralContainers=[{"name": "debug"}]), 34, "baseline"),
    "privileged-ephemeral-container": (
        _with(ephemeralContainers=[{"name": "debug", "securityContext": {"privileged": True}}]),
        34,
        "privileged",
    ),
    "init-container": (_with(initContainers=[{"name": "wait"}]), 34, "baseline"),
    "volume-without-a-source": (_with(volumes=[{"name": "scratch"}]), 34, "restricted"),
    "image-volume": (_with(volumes=[{"name": "model", "image": {"reference": "r/m:1"}}]), 34, "restricted"),
    "nfs-volume": (_with(volumes=[{"name": "data", "nfs": {"server": "s", "path": "/"}}]), 34, "baseline"),
    "root-with-users-of-its-own": (_with(hostUsers=False, securityContext={"runAsUser": 0}), 35, "baseline"),
    "hostUsers-before-1.35": (
        _with(hostUsers=False, securityContext={**_CLEAN["spec"]["securityContext"], "runAsUser": 0}),
        34,
        "baseline",
    ),
    "hostUsers-since-1.35": (
        _with(hostUsers=False, securityContext={**_CLEAN["spec"]["securityContext"], "runAsUser": 0}),
        35,
        "restricted",
    ),
    "port-in-the-hosts-network": (
        {"spec": {"hostNetwork": True, "containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}},
        34,
        "privileged",
    ),
    "newer-than-what-is-known": (_CLEAN, 99, "restricted"),
}


@pytest.mark.parametrize("case", _CASES)
def test_level(case: str) -> None:
    """What no pod of Kubernetes' tests holds: containers of `kubectl debug`, and the levels in between."""
    pod, minor, level = _CASES[case]
    assert pod_security.level_of(pod, minor) == level


_SYSCTLS: Final = {
    "kernel.shm_rmid_forced": 0,
    "net.ipv4.ip_local_port_range": 0,
    "net.ipv4.ip_unprivileged_port_start": 0,
    "net.ipv4.ping_group_range": 0,
    "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.ip_local_reserved_ports": 27,
    "net.ipv4.tcp_fin_timeout": 29,
    "net.ipv4.tcp_keepalive_intvl": 29,
    "net.ipv4.tcp_keepalive_probes": 29,
    "net.ipv4.tcp_keepalive_time": 29,
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
    "net.ipv4.tcp_notsent_lowat": 37,
    "net.ipv4.tcp_slow_start_after_idle": 37,
}
"""The minor since which each is safe, from https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/."""


@pytest.mark.parametrize("name", _SYSCTLS)
def test_sysctl_is_safe_since(name: str) -> None:
    """Kubernetes' own pods hold none that a version before refused."""
    pod = _with(securityContext={**_CLEAN["spec"]["securityContext"], "sysctls": [{"name": name, "value": "1"}]})
    refused = [minor for minor in range(_NEWEST + 1) if pod_security.violations(pod, "baseline", minor)]
    assert refused == list(range(_SYSCTLS[name]))


def test_selinux_type_is_allowed_since() -> None:
    context = {**_CLEAN["spec"]["securityContext"], "seLinuxOptions": {"type": "container_engine_t"}}
    pod = _with(securityContext=context)
    assert [bool(pod_security.violations(pod, "baseline", minor)) for minor in (30, 31)] == [True, False]


def test_what_is_wrong_is_said_by_container() -> None:
    pod = _with(initContainers=[{"name": "a"}], ephemeralContainers=[{"name": "b"}], hostPID=True)
    context = ("securityContext", "allowPrivilegeEscalation")
    assert pod_security.violations(pod, "restricted", 34) == [
        ("host namespaces", (), "hostPID must not be true", ("spec", "hostPID")),
        (
            "allowPrivilegeEscalation != false",
            ("a", "b"),
            "securityContext.allowPrivilegeEscalation must be false",
            context,
        ),
        (
            "unrestricted capabilities",
            ("a", "b"),
            "securityContext.capabilities.drop must have ALL",
            ("securityContext", "capabilities", "drop"),
        ),
    ]
    assert pod_security.violations(pod, "privileged", 34) == []


def test_ports_in_the_hosts_network_are_the_hosts() -> None:
    """The API server fills them in before admission judges."""
    pod, _, _ = _CASES["port-in-the-hosts-network"]
    controls = [violation.control for violation in pod_security.violations(pod, "baseline", 34)]
    assert controls == ["host namespaces", "hostPort"]


_FIELDS: Final = (
    *("name", "securityContext", "containers", "initContainers", "ephemeralContainers", "volumes", "hostPath", "ports"),
    *("hostPort", "capabilities", "add", "drop", "privileged", "seccompProfile", "type", "runAsUser", "runAsNonRoot"),
    *(
        "appArmorProfile",
        "seLinuxOptions",
        "user",
        "procMount",
        "windowsOptions",
        "hostProcess",
        "sysctls",
        "lifecycle",
    ),
    *("postStart", "httpGet", "host", "livenessProbe", "hostPID", "hostUsers", "os", "spec", "metadata", "annotations"),
)
_VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 70000) | st.sampled_from(["ALL", "Unconfined", "x", ""]),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.sampled_from(_FIELDS), children, max_size=4),
    max_leaves=25,
)


@given(st.dictionaries(st.sampled_from(_FIELDS), _VALUES), _VALUES, st.integers(0, 40))
def test_any_pod_can_be_judged(spec: Body, metadata: Any, minor: int) -> None:
    """A patch may have put anything anywhere; schemas say what is wrong with that. The levels include one another."""
    pod = {"metadata": metadata, "spec": spec}
    baseline, restricted = (bool(pod_security.violations(pod, level, minor)) for level in ("baseline", "restricted"))
    assert restricted or not baseline
    expected = "privileged" if baseline else "baseline" if restricted else "restricted"
    assert pod_security.level_of(pod, minor) == expected


@given(
    st.lists(st.dictionaries(st.sampled_from([*_FIELDS, *sorted(UNREAD)]), _VALUES, max_size=5), max_size=3),
    st.lists(
        st.dictionaries(
            st.sampled_from(["name", "emptyDir", "configMap", "persistentVolumeClaim", "hostPath", "nfs", "projected"]),
            _VALUES,
            max_size=3,
        ),
        max_size=3,
    ),
    st.dictionaries(st.sampled_from(_FIELDS), _VALUES, max_size=3),
    st.integers(20, 40),
    st.sampled_from(["baseline", "restricted"]),
)
def test_pods_that_are_alike_in_what_is_read_are_judged_once(
    containers: list[Body], volumes: list[Body], more: Body, minor: int, level: Level
) -> None:
    """What is known of Pods like it is what is found afresh: no control reads what is left out of the comparison."""
    pod = {"metadata": more, "spec": {**more, "containers": containers, "volumes": volumes}}
    assert pod_security.violations(pod, level, minor) == judged_afresh(pod, level, minor)
    others = [{key: value for key, value in container.items() if key not in UNREAD} for container in containers]
    other = {**pod, "spec": {**pod["spec"], "containers": others}}
    assert pod_security.violations(other, level, minor) == judged_afresh(pod, level, minor)


def _pods(body: Body) -> list[Body]:
    if body["kind"] == "Pod":
        return [body]
    return [body["spec"]["template"]] if body["kind"] == "Deployment" else []


@pytest.mark.parametrize("operator", ["training-operator-1.9.3", "kserve-0.16.0"])
def test_observed_pods_are_judged_as_observed(operator: str) -> None:
    """The pods that real operators made: restricted refused those that we refuse, for the same reasons."""
    judged = 0
    for told in yamltext.load_all((_OBSERVED / operator / "pod-security.yaml").read_text()):
        path = observe.fixture(operator, told["case"])
        if not path.exists():
            continue  # runs of Kubernetes' own Jobs, which stand in another folder
        found = [
            violation.control
            for body in yamltext.load_all(path.read_text())
            for pod in _pods(body)
            for violation in pod_security.violations(pod, "restricted", 34)
        ]
        said = told["restricted"]
        reasons = ", ".join(said.values()) if isinstance(said, dict) else said
        assert set(found) == {name for name in re.sub(r" \([^()]*\)", "", reasons).split(", ") if name}, told["case"]
        judged += 1
    assert judged >= 8
