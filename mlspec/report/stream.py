"""Objects in, one stream of YAML documents or one JSON list out; secrets that somebody wrote down are hidden."""

from __future__ import annotations

import json as encoder
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from mlspec import yamltext
from mlspec.k8s.projected import Body, ProjectedPods, Projection
from mlspec.literals.objects import redact_object
from mlspec.projection.templates import RANDOM

# Pods that a namespace can have before the cluster gets slower; nobody reads more that are alike
# (kubernetes/community, sig-scalability/configs-and-limits/thresholds.md).
_MOST: Final = 3000


class Document(NamedTuple):
    """An object, and what is said in front of it."""

    body: Body
    comments: tuple[str, ...] = ()


def yaml(documents: Iterable[Document]) -> Iterator[str]:
    """Yield a YAML stream, document by document."""
    separator = ""
    for document in documents:
        yield (
            separator
            + "".join(f"# {comment}\n" for comment in document.comments)
            + yamltext.dump(redact_object(document.body))
        )
        separator = "---\n"


def json(documents: Iterable[Document]) -> Iterator[str]:
    """Yield a v1 List, which kubectl and policy tools read as they read a stream."""
    items = [redact_object(document.body) for document in documents]
    yield encoder.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2) + "\n"


def titled(title: str, documents: Iterable[Document]) -> Iterator[Document]:
    """Yield documents, a title in front of the first."""
    for document in documents:
        yield document._replace(comments=(title, *document.comments)) if title else document
        title = ""


def projected(cause: str, projection: Projection) -> Iterator[Document]:
    """Yield the Services and Pods that will exist because of an object."""
    for service in projection.services:
        yield Document(service, (f"a Service of {cause}",))
    for pods in projection.pods:
        yield from _pods(cause, pods)


def _pods(cause: str, pods: ProjectedPods) -> Iterator[Document]:
    """Yield pods that are alike, each with a name of its own."""
    what = f"{pods.role} of {cause}" if pods.role else f"pod of {cause}"
    for number in range(min(pods.count, _MOST)):
        pod = pods.make(number)
        if number and pod["metadata"]["name"].endswith(RANDOM):
            pod["metadata"]["name"] = f"{pod['metadata']['name'].removesuffix(RANDOM)}{number:0{len(RANDOM)}}"
        counted = f", {number + 1} of {pods.count}" if pods.count > 1 else ""
        more = f"; the other {pods.count - _MOST} are left out" if number + 1 == _MOST < pods.count else ""
        yield Document(pod, (f"{what}{counted}{more}",))
