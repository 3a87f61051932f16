"""Findings 2xx: meaning."""

from __future__ import annotations

from typing import Final

from mlspec.codes.code import Code
from mlspec.diagnostics import Severity

MEANING: Final[dict[str, Code]] = {
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
        "mlspec uses the name itself: project `argocd`, environments `common` and `admin`, volumes `mlspec-…`, a "
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
        "more than there is",
        "A pod asks for more GPUs than a node of that type has, or for more shared memory than memory; or, as a "
        "warning, a run asks for more than the whole quota of its namespace, so that some of its pods are refused for "
        "as long as it lasts. Kueue does not look at that quota, and admits such a run.",
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
    "MLS227": Code(
        "two mounts at one path", "Two mounts of a container are at one path, or one stands inside the other."
    ),
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
    # MLS237 was what MLS409 and MLS410 are now; its number is not used again.
    "MLS238": Code(
        "left out until a run is pinned",
        "The service takes its model from a step, and the environment's `promotion` is pinned: it is generated once "
        "`mlspec promote` has written which run it serves. Everything else of the project is generated.",
        Severity.NOTE,
    ),
    "MLS239": Code(
        "where a run's directory lies",
        "A run's directory lies in a volume that the step mounts for writing. Of several, `output` says which; it must "
        "be one of them. Without any there is no directory, and no marker that says that the run has succeeded.",
    ),
    "MLS240": Code(
        "nothing to serve",
        "A service can follow a step only if its runs have a directory and mark their success there: the step mounts a "
        "volume for writing, says `command:` or `script:`, and leaves `handoff` at auto.",
    ),
    "MLS241": Code(
        "no such run",
        "`model.run` names a run that the environment does not have: neither the step's current run, nor one that was "
        "superseded and whose file is kept in generated/. A run of another environment is another run.",
    ),
    "MLS242": Code(
        "not handed over",
        "The step starts the image's own entry point, which mlspec does not know, so no wrapper can stand in front of "
        "it: the run does not mark its success, and starts again where a finished run would end at once.",
        Severity.WARNING,
    ),
    "MLS243": Code(
        "the sync waits for a training",
        "A step that asks for GPUs starts in a sync wave of its own, so that it holds none while it waits. Where it "
        "needs another one that asks for GPUs, Argo CD's operation lasts as long as the first, and later commits to "
        "the pipeline wait for it. Foundation and serving do not.",
        Severity.NOTE,
    ),
    "MLS244": Code(
        "no such variable",
        "`$(MLSPEC_…)` names a variable that this run does not have, so Kubernetes would hand the text on as it is. "
        "MLSPEC_RUN_DIR needs a volume that is mounted for writing, MLSPEC_INPUT_<STEP> a step in `needs` whose output "
        "is mounted, MLSPEC_GATE a `gate`.",
    ),
    "MLS245": Code(
        "nothing to judge",
        "A gate is judged on metrics.json in the run's directory, once the run has marked its success. The step has no "
        "directory, or nothing that marks it.",
    ),
    "MLS246": Code(
        "cannot be shipped",
        "Files of `script` and `files` travel in an immutable ConfigMap with the run: regular files below the folder "
        "of mlproject.yaml, reached without symbolic links, 1 MiB together.",
    ),
    "MLS247": Code(
        "nothing would queue it",
        "A queue is a label on the run, which Kueue reads. Without Kueue, or where its configuration does not enable "
        "the kind, nobody does: the run starts at once, past every quota of the queue. From 0.19 on Kueue enables "
        "Kubeflow's v1 training jobs only where its configuration says so; `kueue.frameworks` states that it does.",
    ),
    "MLS248": Code(
        "data would stay behind",
        "A claim is found by its namespace and its name. After this change nothing would name the claim that holds the "
        "data, and a new, empty one would take its place.",
    ),
    "MLS249": Code(
        "deployment mode of a live service",
        "KServe refuses to change the deployment mode of an InferenceService that exists (its validating webhook). A "
        "service of another name starts in the new mode.",
    ),
    "MLS250": Code(
        "counts from the next run",
        "What becomes of a run once it is superseded stands in its own file, which is written once: `runs.onSupersede` "
        "decides about the runs to come. A run that is there already is deleted or kept by hand.",
        Severity.NOTE,
    ),
    "MLS251": Code(
        "no store for a secret",
        "`secrets.<name>.external` names a key of the environment's `secretStore`, but the environment declares none. "
        "Declare it, or set `external: null` under `environments.<env>` where the Secret exists already.",
    ),
    "MLS252": Code(
        "accepts nothing",
        "An `allow` whose finding is reported in no environment: what it accepted is gone. Remove it, or it would "
        "accept the next such finding unseen.",
        Severity.WARNING,
    ),
    "MLS253": Code(
        "mount that hides the container's own files",
        "A volume hides what its image has at the same path. Without the programs of `/usr`, the accounts and "
        "certificates of `/etc` or the devices of `/dev` nothing starts; into `/proc` and `/sys`, which the kernel "
        "fills, a runtime mounts nothing. A mount inside a volume that is mounted read-only needs its folder there.",
    ),
    "MLS254": Code(
        "elastic job that cannot be",
        "`elastic` says between how many pods a job may run, instead of `nodes`. It goes on when a pod is lost, which "
        "is a retry: without any, the operator ends the job with the first pod that fails.",
    ),
    "MLS255": Code(
        "flag of torchrun against the job",
        "The operator tells torchrun by PET_ variables how many pods there are, who is who and where they meet, and "
        "flags win over variables. With another number some pods wait for ever for others, or each trains on its own, "
        "and all of them succeed. What is only known in the pod, such as `--nnodes=$(PET_NNODES)`, is left alone.",
    ),
    "MLS256": Code(
        "shell that keeps signals",
        "A pod that has to end is told so by a signal to its first process. A shell that still stands in front of the "
        "program ends at once and hands nothing on: the program is killed, and writes no checkpoint. `exec` gives it "
        "the shell's place.",
        Severity.WARNING,
    ),
    "MLS257": Code(
        "processes and GPUs differ",
        "Each process of a training has a GPU of its own. With fewer processes GPUs are idle, unless the program "
        "spreads one model over several; with more, some find none, and NCCL refuses to share.",
        Severity.WARNING,
    ),
    "MLS258": Code(
        "variable that the operator sets",
        "The training operator writes MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE and some that begin with PET_ behind "
        "the variables of `env`, and of two of one name the last holds: what is written has no effect.",
    ),
}
