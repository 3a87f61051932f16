"""Rules about images: those that are written, and those that operators add."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from mlspec.diagnostics import Severity
from mlspec.k8s.values import at, numbered
from mlspec.kind_specs import ServiceSpec
from mlspec.policy.added import containers
from mlspec.policy.places import in_container, made_by, pods_of
from mlspec.policy.subject import Judged, Path, Rule, Subject, Violation

_FLOATING: Final = frozenset(
    ("main", "master", "trunk", "head", "dev", "devel", "develop", "nightly", "edge", "stable")
)
"""Tags that are moved by habit, beside `latest`."""
_MODELCAR: Final = "oci://"
"""A model whose URI is an image: KServe runs it beside the server."""
_DEFAULT_REGISTRY: Final = "docker.io"


class _Image(NamedTuple):
    reference: str
    path: Path
    of_environment: bool = False
    added: str = ""
    """The container that an operator adds for it."""


def floating_tag(subject: Subject) -> Iterator[Violation]:
    """The tag may stand for another image tomorrow: a restarted pod would run something else than its run is named
    after, and the same inputs would not give the same result. Name a version, or a digest. Where runs are tried out
    (environment `dev`, or one with `promotion: follow`) `latest` is no worse than the others; elsewhere it is MLS402.
    """
    for image in _images(subject):
        tag = _tag(image.reference)
        if tag is None or image.added:
            continue
        if tag.lower() in _FLOATING or (_is_latest(tag) and subject.is_development):
            message = f"`{image.reference}` is whatever its tag `{tag}` stands for that day"
            if not tag:
                message = f"`{image.reference}` has no tag, so it is whatever `latest` stands for that day"
            yield _violation(image, message, "write a version, or a digest: `@sha256:…`")


def latest(subject: Subject) -> Iterator[Violation]:
    """`latest`, said or implied by having no tag, is refused outside development: nobody decided that what runs
    should change, and a revert would not bring back what ran before. Images that operators add are included; their
    tag is set where the operator is installed.
    """
    if subject.is_development:
        return
    for image in _images(subject):
        tag = _tag(image.reference)
        if tag is not None and _is_latest(tag):
            what = f"{image.added} runs `{image.reference}`" if image.added else f"`{image.reference}`"
            message = f"{what}: `latest` is refused in environment {subject.name}"
            help = "write a version, or a digest: `@sha256:…`"
            yield _violation(image, message, _elsewhere(subject, "MLS402") if image.added else help)


def other_registry(subject: Subject) -> Iterator[Violation]:
    """The image comes from a registry that the environment's `images.registries` does not list. An entry is a
    registry or a folder of it, `ghcr.io/acme`; Docker Hub is `docker.io`, its own images are below
    `docker.io/library`. Images that operators add (storage initializers, model servers, proxies) are pulled by the
    same nodes and judged, too: mirror them, and configure the operator, or list where they come from.
    """
    registries = subject.environment.images.registries
    if not registries:
        return
    for image in _images(subject):
        full = full_reference(image.reference)
        if not any(
            full.startswith(f"{_with_host(entry)}/") or _repository(full) == _with_host(entry) for entry in registries
        ):
            what = f"{image.added} runs `{image.reference}`, which" if image.added else f"`{image.reference}`"
            message = f"{what} is not from a registry of environment {subject.name}"
            known = ", ".join(f"`{entry}`" for entry in registries[:6])
            help = f"it allows {known}"
            if image.added:
                help += "; configure the operator with a mirror, or list the registry in `images.registries`"
            yield _violation(image, message, help)


def no_digest(subject: Subject) -> Iterator[Violation]:
    """A tag can be pushed again; a digest names the bytes. The environment's `images.digests` says whether an image
    without one is reported (`warn`, the default), refused (`require`) or fine (`off`). Images that operators add are
    chosen by whoever installs the operator, so they are only reported where digests are required; so are images that
    MLS401 or MLS402 is about already.
    """
    digests = subject.environment.images.digests
    if digests == "off":
        return
    severity = Severity.ERROR if digests == "require" else Severity.WARNING
    for image in _images(subject):
        tag = _tag(image.reference)
        told = tag is not None and (_is_latest(tag) or tag.lower() in _FLOATING)
        if "@" in image.reference or (digests != "require" and (image.added or told)):
            continue
        what = f"{image.added} runs `{image.reference}`, which" if image.added else f"`{image.reference}`"
        help = "write `@sha256:…` behind it: `docker buildx imagetools inspect` prints the digest"
        help = _elsewhere(subject, "MLS404") if image.added else help
        yield _violation(image, f"{what} has no digest", help, severity)


def _violation(image: _Image, message: str, help: str, severity: Severity | None = None) -> Violation:
    return Violation(message, image.path, help, severity, image.of_environment, at_key=bool(image.added))


def _elsewhere(subject: Subject, code: str) -> str:
    return (
        f"configure the operator, or set `policy: {{{code}: off}}` in environments/{subject.name}.yaml, or accept it "
        "with `allow` here"
    )


def _images(subject: Subject) -> tuple[_Image, ...]:
    """Return every image with where it is written, or with the container that an operator adds for it."""
    found: tuple[_Image, ...] = subject.known("images", lambda: tuple(_found(subject)))
    return found


def _found(subject: Subject) -> Iterator[_Image]:
    written: set[str] = set()
    for place, spec in subject.specs():
        for path, reference in spec.images().items():
            written.add(reference)
            yield _Image(reference, (*place, *path))
        for path, model in spec.models().items() if isinstance(spec, ServiceSpec) else ():
            if model.uri is not None and model.uri.startswith(_MODELCAR):
                written.add(model.uri.removeprefix(_MODELCAR))
                yield _Image(model.uri.removeprefix(_MODELCAR), (*place, *path, "model", "uri"))
    helper = subject.environment.images.helper
    if any(stated.workload.gate is not None for stated in subject.plan.services):
        yield _Image(helper, ("images", "helper"), of_environment=True)
    seen: set[tuple[Path, str]] = set()
    for judged in subject.judged():
        for who, found, field in _of_pod(judged):
            if isinstance(found, str) and found not in (*written, helper) and (judged.place, found) not in seen:
                seen.add((judged.place, found))
                made = made_by(subject, judged, field)
                patched = "patch" in made[2:3]
                added = "" if patched else f"{who} of {pods_of(judged)}"
                yield _Image(found, made if patched else judged.place, added=added)


def _of_pod(judged: Judged) -> Iterator[tuple[str, object, Path]]:
    """Yield what an image is for, its reference and its field: of containers, and of volumes that are images."""
    for name, container, _ in containers(judged):
        yield f"container `{name}`", container.get("image"), in_container(judged.pod, name, "image")
    for number, volume in numbered(judged.pod, "spec", "volumes"):
        reference = at(volume, "image", "reference")
        yield f"volume `{volume.get('name')}`", reference, ("spec", "volumes", number, "image", "reference")


def _tag(image: str) -> str | None:
    """Return the tag of an image reference, empty without one; None where a digest says which image is meant."""
    return None if "@" in image else image.rpartition("/")[2].partition(":")[2]


def _is_latest(tag: str) -> bool:
    return tag.lower() in ("", "latest")


def full_reference(image: str) -> str:
    """Return an image reference with its registry, as Docker completes it: `python:3.12` is Docker Hub's library."""
    host, slash, _ = image.partition("/")
    if slash and ("." in host or ":" in host or host == "localhost"):
        return image
    return f"{_DEFAULT_REGISTRY}/{image}" if slash else f"{_DEFAULT_REGISTRY}/library/{image}"


def _with_host(registry: str) -> str:
    host, _, _ = registry.partition("/")
    if "." in host or ":" in host or host == "localhost":
        return registry
    return f"{_DEFAULT_REGISTRY}/{registry}"


def _repository(reference: str) -> str:
    folder, slash, name = reference.partition("@")[0].rpartition("/")
    return f"{folder}{slash}{name.partition(':')[0]}"


RULES: Final = (
    Rule("MLS401", floating_tag),
    Rule("MLS402", latest),
    Rule("MLS403", other_registry),
    Rule("MLS404", no_digest),
)
