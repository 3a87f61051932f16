"""Hypothesis strategies for valid roots: environments and projects as plain data, written by `tests.flow`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.flow import Data, Plain, nasty_text, optional, plain_text, to_yaml
from tests.support import write_tree

_DESTINATIONS: Data = {
    "s3": {"cidrs": ["10.0.0.0/8"]},
    "gs": {"cidrs": ["0.0.0.0/0"], "ports": [443, 8443]},
    "hf": {"cidrs": ["2001:db8::/32", "0.0.0.0/0"]},
    "https": {"namespace": "proxy", "podLabels": {"app": "squid"}, "ports": [3128]},
    "mlflow": {"namespace": "tracking", "podLabels": {"app": "mlflow", "tier": "008"}},
}


SHIPPED: dict[str, str | bytes] = {"src/train.py": "print('trains')\n", "src/odd.bin": b"\x00\xff\r\nodd"}
"""Files of the repository that steps may ship."""


@dataclass
class Root:
    """A root as data: environments by name, common.yaml if any, and the documents of mlproject.yaml."""

    environments: dict[str, Data]
    common: Data | None
    projects: list[Data]
    comments: list[str] = field(default_factory=list)
    shipped: dict[str, str | bytes] = field(default_factory=dict)
    """Files that stand in the place of those that every root has."""

    def files(self) -> dict[str, str | bytes]:
        """Return the files to write."""
        head = "".join(f"# {comment}\n" for comment in self.comments)
        found: dict[str, str | bytes] = {
            f"environments/{name}.yaml": to_yaml(data) for name, data in self.environments.items()
        }
        if self.common is not None:
            found["environments/common.yaml"] = to_yaml(self.common)
        found |= SHIPPED | self.shipped
        found["mlproject.yaml"] = head + "---\n".join(map(to_yaml, self.projects))
        return found

    def write(self, folder: Path) -> Path:
        """Write the root into a folder."""
        return write_tree(folder, self.files())


def _argocd(draw: st.DrawFn) -> Data:
    fields: Data = {
        "repoURL": draw(st.sampled_from(["https://git.example.com/ml.git", "git@git.example.com:ml/models.git"]))
    }
    window = {"kind": "allow", "schedule": "0 8 * * 1-5", "duration": "9h"}
    return fields | draw(
        optional(
            {
                "revision": st.sampled_from(["refs/heads/main", Plain("1.30"), "v2"]),
                "version": st.sampled_from(["3.2", Plain("3.3"), "3.5"]),
                "path": st.sampled_from(["", "ml/root"]),
                "namespace": st.just("gitops"),
                "windows": st.lists(
                    st.sampled_from([window, window | {"timeZone": "UTC", "manualSync": True}]), max_size=2
                ),
            }
        )
    )


@st.composite
def _shared_fields(draw: st.DrawFn) -> Data:
    """Draw fields that every environment of a root has, and that may move to common.yaml."""
    binding = st.sampled_from(["Immediate", "WaitForFirstConsumer"])
    classes: Data = {
        "standard": {"access": ["ReadWriteOnce"], "binding": draw(binding)},
        "nfs": {"access": ["ReadWriteMany", "ReadOnlyMany"], "binding": draw(binding)},
    }
    return {
        "kubernetes": draw(st.sampled_from([Plain("1.31"), "1.34", "1.37"])),
        "training": draw(st.sampled_from(["kubeflow.org/v1 1.8", "kubeflow.org/v1 1.9"])),
        "storage": dict(draw(st.permutations(list(classes.items())))),
        "kueue": {"version": Plain("0.17")} | draw(optional({"queue": st.just("research")})),
        "promotion": draw(st.sampled_from(["pinned", "follow"])),
        "images": {"digests": "off"},
        "runs": {"onSupersede": draw(st.sampled_from(["keep", "delete"]))},
        "network": {
            "dns": draw(st.sampled_from(["kube-dns", "node-local"])),
            "gateway": {"namespace": "istio-system", "podLabels": {"app": "gateway"}},
            "destinations": _DESTINATIONS
            | ({"s3": _DESTINATIONS["s3"] | {"secret": "s3"}} if draw(st.booleans()) else {}),
        },
        "argocd": _argocd(draw),
    }


def _gpus(draw: st.DrawFn) -> tuple[Data, Data]:
    """Draw a catalogue that always has t4, and defaults that pick a type where there are several."""
    names = ["t4", *draw(st.lists(st.sampled_from(["a100", "mig-1g"]), unique=True))]
    more = optional(
        {
            "perNode": st.just(8),
            "nodeSelector": st.dictionaries(
                st.sampled_from(["gpu", "pool"]), st.sampled_from(["x", "007"]), min_size=1
            ),
            "tolerations": st.just([{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]),
            "pricePerHour": st.just(Plain("0.35")),
        }
    )
    gpus = {name: draw(more) | ({"resource": "nvidia.com/mig-1g.5gb"} if name == "mig-1g" else {}) for name in names}
    defaults = draw(optional({"cpu": st.sampled_from([Plain("2"), "1500m"]), "memory": st.just("3Gi")}))
    return gpus, defaults | ({"gpu": "t4"} if len(names) > 1 else {})


@st.composite
def _environment(draw: st.DrawFn, mode: str, namespace: Data) -> Data:
    """Draw what one environment says of its own."""
    gpus, defaults = _gpus(draw)
    found = {"apiVersion": "mlspec.dev/v1alpha1", "kind": "Environment", "gpus": gpus, "defaults": defaults}
    found["kserve"] = {"version": draw(st.sampled_from(["0.15", Plain("0.16"), "0.20"])), "mode": mode}
    # Not restricted, which refuses containers that operators add.
    found["namespace"] = namespace | draw(optional({"podSecurity": st.sampled_from(["baseline", "privileged"])}))
    prometheus = {"version": Plain("0.85"), "namespace": "monitoring", "podLabels": {"app": "prometheus"}}
    account = st.fixed_dictionaries({"eks.amazonaws.com/role-arn": st.just("arn:{project}:{environment}:{owner}")})
    return found | draw(
        optional(
            {
                "prometheus": st.just(prometheus),
                "quota": optional(
                    {
                        "cpu": st.just(Plain("64")),
                        "memory": st.just("1Ti"),
                        "gpu": st.just(8),
                        "storage": st.just("5000Gi"),
                    }
                ),
                "images": st.just({"pullSecrets": ["registry"], "digests": "off"}),
                "serviceAccounts": st.fixed_dictionaries({"annotations": account}),
                "placement": st.just({"nodeSelector": {"pool": "cpu"}, "tolerations": [{"operator": "Exists"}]}),
                "access": st.just({"viewers": ["{owner}", "all-{environment}"], "operators": []}),
                "cluster": st.just({"server": "https://10.0.0.1:6443"}),
            }
        )
    )


def _resources(draw: st.DrawFn) -> Data:
    return draw(
        optional(
            {
                "cpu": st.sampled_from([Plain("4"), "500m", Plain("0.1"), "2000m"]),
                "memory": st.sampled_from(["8Gi", "1e9", Plain("4096M"), "16384Mi"]),
                "sharedMemory": st.sampled_from(["256Mi", "512M"]),
                "rdma/ib": st.integers(1, 8),
            }
        )
    )


_variables = st.dictionaries(
    st.sampled_from(["LR", "MODE", "NOTE", "_X1", "no"]),
    nasty_text | st.just({"secret": "hub", "key": "token"}) | st.just({"secret": "hub", "key": Plain("08")}),
    max_size=3,
)
_arguments = st.lists(nasty_text, max_size=4) | st.dictionaries(
    st.sampled_from(["lr", "epochs", "bf16", "1x", "data.path"]), nasty_text | st.booleans(), max_size=4
)
_gpu = st.sampled_from([0, 1, Plain("2"), "t4:1", Plain("t4:4"), {"type": "t4", "count": 2}, {"count": 1}])


@st.composite
def _step(draw: st.DrawFn, earlier: list[str]) -> Data:
    """Draw a step that needs any of the earlier ones."""
    kind = draw(st.sampled_from(["job", "pytorch"]))
    found: Data = {"kind": kind, "image": draw(st.sampled_from(["python:3.12-slim", "ghcr.io/acme/train:1.0"]))}
    found |= draw(
        st.sampled_from(
            [
                {},
                {"script": "/opt/train.py"},
                {"script": "src/train.py"},
                {"command": ["torchrun", "/opt/no", Plain("1e3")]},
            ]
        )
    )
    mounts: Data = {"data": draw(st.sampled_from(["/data", {"path": "/data", "readOnly": True}])), "outside": "/mnt/x"}
    if kind == "job":
        mounts["scratch"] = "/scratch"
    else:
        found |= draw(
            optional(
                {
                    "nodes": st.integers(1, 4),
                    "processes": st.integers(1, 4),
                    "cleanPodPolicy": st.sampled_from(["Running", "None", "All"]),
                }
            )
        )
    chosen = draw(st.lists(st.sampled_from(sorted(mounts)), unique=True))
    found["resources"] = _resources(draw)
    found["mounts"] = {name: mounts[name] for name in chosen}
    writable = [name for name in chosen if isinstance(mounts[name], str)]
    if len(writable) > 1:
        found["output"] = draw(st.sampled_from(writable))
    if writable and ("script" in found or "command" in found):
        found |= draw(optional({"gate": st.just({"accuracy": {"atLeast": Plain("0.9")}, "loss": {"atMost": 3}})}))
    return found | draw(
        optional(
            {
                "needs": st.lists(st.sampled_from(earlier), unique=True) if earlier else st.just([]),
                "args": _arguments,
                "env": _variables,
                "gpu": _gpu,
                "retries": st.integers(0, 5),
                "files": st.just({"src/odd.bin": "/etc/odd.bin", "src/train.py": "/etc/train.py"}),
                "rerun": st.integers(0, 3),
                "queue": st.just("own-queue"),
                "deadline": st.sampled_from(["300ms", "90m", "7d"]),
                "egress": st.lists(st.sampled_from(sorted(_DESTINATIONS)), max_size=3),
            }
        )
    )


def _is_served(step: Data) -> bool:
    """Say whether a service can follow a step: its runs mark their success in a volume of many nodes."""
    writable = [name for name, mount in step["mounts"].items() if isinstance(mount, str)]
    output = step.get("output") or (writable[0] if writable else "scratch")
    return output != "scratch" and ("script" in step or "command" in step)


@st.composite
def _service(draw: st.DrawFn, knative: bool | None) -> Data:
    """Draw a service; `knative` is None where environments differ, so that only fixed numbers fit."""
    model = {
        "format": draw(st.sampled_from(["onnx", "sklearn", "pytorch", "tensorrt", "huggingface"])),
        "uri": draw(
            st.sampled_from(["s3://b/m", "gs://b/m", "hf://org/m", "pvc://data/m", "oci://r/m:1", "https://h/m"])
        ),
        **draw(optional({"version": plain_text, "runtime": st.just("kserve-tritonserver"), "protocol": st.just("v2")})),
    }
    replicas: st.SearchStrategy[Any] = st.integers(1, 3) | st.just({"min": 1, "max": 4})
    if knative is not None:
        metrics = st.sampled_from(["concurrency", "rps"] if knative else ["cpu", "memory"])
        target = st.fixed_dictionaries({"min": st.integers(0 if knative else 1, 2), "max": st.integers(3, 9)})
        replicas |= st.builds(lambda bounds, metric: bounds | {"target": {metric: 70}}, target, metrics)
    found = {"kind": "kserve", "model": model, "resources": _resources(draw)}
    return found | draw(
        optional({"replicas": replicas, "gpu": _gpu, "env": _variables, "egress": st.just(["mlflow", "s3"])})
    )


def _override(draw: st.DrawFn, project: Data, knative: bool) -> Data:
    """Draw what one environment changes in a project."""
    found: Data = draw(optional({"monitoring": st.just({"interval": "1d"}), "enabled": st.just(True)}))
    if draw(st.integers(0, 7)) == 0:
        return {"enabled": False}
    steps: Data = {}
    for name, step in project["steps"].items():
        changes: dict[str, st.SearchStrategy[Any]] = {
            "args": st.dictionaries(st.sampled_from(["lr", "new"]), nasty_text) | st.just([Plain("no")]),
            "env": st.dictionaries(st.sampled_from(["LR", "NEW"]), nasty_text | st.none()),
            "deadline": st.none() | st.just("1h"),
            "gpu": st.none() | st.just(Plain("t4:1")),
            "resources": optional({"cpu": st.none() | st.just(Plain("3"))}),
            "retries": st.integers(0, 2),
        }
        if step["kind"] == "pytorch":
            changes["nodes"] = st.just(1) | st.none()
        steps |= {name: draw(optional(changes))} if draw(st.booleans()) else {}
    # A map merges, so another metric has to go.
    target = {"rps": 50, "concurrency": None} if knative else {"cpu": 50, "memory": None}
    replicas = {"replicas": {"min": 1, "max": 3, "target": target}}
    services = {name: replicas for name in project["services"] if draw(st.booleans())}
    sized = "size" in project["volumes"]["data"] and draw(st.booleans())
    sizes = {"data": {"size": draw(st.sampled_from(["1Gi", "1024Mi", Plain("2e9")]))}} if sized else {}
    return found | {"steps": steps, "services": services, "volumes": sizes}


@st.composite
def _project(draw: st.DrawFn, index: int, modes: dict[str, str]) -> Data:
    """Draw a project; its objects share no name with those of another index, so a namespace can hold both."""
    volumes = {
        "data": {"size": "100Gi", "access": "ReadWriteMany"} | draw(optional({"class": st.just("nfs")})),
        "scratch": {"size": draw(st.sampled_from(["10Gi", "10240Mi"]))},
        "outside": {"claim": "made-elsewhere"},
    }
    if index:  # a claim's name is the volume's
        volumes = {**volumes, "data": {"claim": "data"}, "scratch": {"claim": "scratch"}}
    steps: Data = {}
    for name in draw(st.permutations([f"prepare{index}", f"a{index}", f"train-it-{index}"]))[: draw(st.integers(0, 3))]:
        steps[name] = draw(_step(sorted(steps)))
    used = set(modes.values())
    knative = None if len(used) > 1 else used == {"Knative"}
    services = {f"serve{index}": draw(_service(knative))} if draw(st.booleans()) or not steps else {}
    made = [name for name, step in steps.items() if _is_served(step)]
    if services and made and draw(st.booleans()):
        model = services[f"serve{index}"]["model"]
        del model["uri"]
        model |= {"from": draw(st.sampled_from(made))} | draw(optional({"path": st.just("export/a")}))
    project: Data = {
        "apiVersion": "mlspec.dev/v1alpha1",
        "kind": "Project",
        "name": ("alpha", "beta-2")[index],
        "owner": draw(st.sampled_from(["team", Plain("0.20"), "équipe: ml"])),
        "secrets": {"hub": {"keys": ["token", Plain("08")]}},
        "volumes": volumes,
        "steps": steps,
        "services": services,
    }
    overrides = {
        name: _override(draw, project, mode == "Knative") for name, mode in modes.items() if draw(st.booleans())
    }
    return project | {"environments": overrides}


@st.composite
def roots(draw: st.DrawFn) -> Root:
    """Draw a root that generates without a finding."""
    names = draw(st.lists(st.sampled_from(["dev", "prod", "prod-eu"]), min_size=1, max_size=3, unique=True))
    modes = {name: draw(st.sampled_from(["Standard", "Knative"])) for name in names}
    managed = draw(st.booleans())
    pattern = draw(
        st.sampled_from(["{project}-{environment}", "ml-{project}-{environment}"] if managed else ["ml-{environment}"])
    )
    shared = draw(_shared_fields())
    own = {name: draw(_environment(mode, {"pattern": pattern, "manage": managed})) for name, mode in modes.items()}
    moved = draw(st.none() | st.sets(st.sampled_from(sorted(shared)), min_size=1))
    environments = {
        name: fields | {key: value for key, value in shared.items() if key not in (moved or ())}
        for name, fields in own.items()
    }
    projects = [draw(_project(index, modes)) for index in range(draw(st.integers(1, 2)))]
    return Root(environments, {key: shared[key] for key in sorted(moved)} if moved else None, projects)
