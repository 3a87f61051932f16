"""Findings 320 to 329: what kube-apiserver refuses by its own code, which no schema shows."""

from __future__ import annotations

from typing import Final

from mlspec.codes.code import Code

_POD: Final = (
    " Of a Job the server itself says so; the pods of a custom resource are only judged when its operator makes them, "
    "and a run then waits for a pod that never comes. So mlspec judges the pods that will be made, too."
)

NATIVE: Final[dict[str, Code]] = {
    "MLS320": Code(
        "metadata refused",
        "The API server refuses a name, a label, an annotation, a finalizer or an owner: its form, or its length. "
        "From k8s.io/apimachinery, pkg/api/validation/objectmeta.go.",
    ),
    "MLS321": Code(
        "pod refused",
        "The API server refuses a field of a pod. From k8s.io/kubernetes, pkg/apis/core/validation/validation.go, "
        "ValidatePodSpec." + _POD,
    ),
    "MLS322": Code(
        "container refused",
        "The API server refuses a field of a container: its name or image, a port, a variable, a probe, a hook. From "
        "k8s.io/kubernetes, pkg/apis/core/validation/validation.go, validateContainerCommon." + _POD,
    ),
    "MLS323": Code(
        "resources refused",
        "The API server refuses what is asked for or limited: a resource that there is not, a request above its limit, "
        "a device without a limit, a part of a device, a negative amount. From k8s.io/kubernetes, "
        "pkg/apis/core/validation/validation.go, validateResourceRequirements, ValidateResourceQuotaSpec, "
        "ValidateLimitRange." + _POD,
    ),
    "MLS324": Code(
        "volume refused",
        "The API server refuses a volume or how it is mounted: no source or two, a mount of a volume that there is "
        "not, two volumes in one place. From k8s.io/kubernetes, pkg/apis/core/validation/validation.go, "
        "ValidateVolumes, ValidateVolumeMounts." + _POD,
    ),
    "MLS325": Code(
        "placement refused",
        "The API server refuses a node selector, a toleration, an affinity or a rule for spreading pods. From "
        "k8s.io/kubernetes, pkg/apis/core/validation/validation.go, ValidateTolerations, validateAffinity, "
        "validateTopologySpreadConstraints." + _POD,
    ),
    "MLS326": Code(
        "security context refused",
        "The API server refuses a security context: a user below 0, a profile without its file, fields that exclude "
        "each other. From k8s.io/kubernetes, pkg/apis/core/validation/validation.go, ValidateSecurityContext." + _POD,
    ),
    "MLS327": Code(
        "Job refused",
        "The API server refuses a field of a Job. From k8s.io/kubernetes, pkg/apis/batch/validation/validation.go, "
        "ValidateJob.",
    ),
    "MLS328": Code(
        "Service or NetworkPolicy refused",
        "The API server refuses a field of a Service or NetworkPolicy. From k8s.io/kubernetes, "
        "pkg/apis/core/validation/validation.go, validateService, and pkg/apis/networking/validation/validation.go, "
        "ValidateNetworkPolicy.",
    ),
    "MLS329": Code(
        "object refused",
        "The API server refuses a field of a ConfigMap, a PersistentVolumeClaim, a Role, a RoleBinding or a custom "
        "resource, which its schema takes. From k8s.io/kubernetes, pkg/apis/core/validation/validation.go and "
        "pkg/apis/rbac/validation/validation.go.",
    ),
}
