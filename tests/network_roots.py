"""Random roots whose workloads have every flow there is: more kinds, and destinations of every form."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.flow import Data
from tests.strategies import Root, roots

_DESTINATIONS: Data = {
    "world": {"cidrs": ["0.0.0.0/0", "::/0"], "ports": [443, 80]},
    "near-metadata": {"cidrs": ["169.254.0.0/15", "fd00:ec2::/64"], "ports": [80]},
    "one-address": {"cidrs": ["192.0.2.1/32", "2001:db8::1/128"], "ports": [1, 65535]},
    "all-but-nothing": {"cidrs": ["255.255.255.255/32", "0.0.0.0/32"]},
    "store": {"namespace": "store", "podLabels": {"app": "minio", "tier": "storage"}, "ports": [9000, 9001]},
    "here": {"namespace": "ml-dev", "podLabels": {"mlspec.dev/project": "alpha"}, "ports": [8080]},
}
_MODEL: Data = {"implementation": "SKLEARN_SERVER", "uri": "https://h/m"}


@st.composite
def flowing_roots(draw: st.DrawFn) -> Root:
    """Draw a root that generates without an error."""
    root = draw(roots())
    for name, environment in root.environments.items():
        shared = environment if "network" in environment else root.common or environment
        known = shared["network"]["destinations"]
        here = _DESTINATIONS["here"] | {
            "namespace": draw(st.sampled_from([f"alpha-{name}", f"ml-{name}", "elsewhere"]))
        }
        environment["network"] = {"destinations": known | _DESTINATIONS | {"here": here}} | {
            key: value for key, value in environment.get("network", {}).items() if key != "destinations"
        }
        environment["seldon"] = {"version": "1.16"}
        # What operators add to pods reaches no more than this.
        environment["namespace"] = environment["namespace"] | {"podSecurity": "baseline"}
    egress = st.lists(st.sampled_from(sorted(_DESTINATIONS)), max_size=3, unique=True)
    for index, project in enumerate(root.projects):
        if draw(st.booleans()):
            roles: Data = {"chief": {}} | draw(st.sampled_from([{}, {"worker": {"replicas": 2}}]))
            step = {"kind": "tensorflow", "image": "i:1", "script": "/t.py", "roles": roles, "egress": draw(egress)}
            project["steps"] = {**project["steps"], f"tf{index}": step}
        if draw(st.booleans()):
            service = {"kind": "seldon", "model": _MODEL, "egress": draw(egress)}
            project["services"] = {**project["services"], f"old{index}": service}
        for workload in (*project["steps"].values(), *project["services"].values()):
            if draw(st.booleans()):
                workload["egress"] = draw(egress)
    return root
