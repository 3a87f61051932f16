"""The API server as tests see it: verdicts with their warnings, and what happens over time.

Thin on purpose: a typed client library hides the Warning headers and the strict field validation that tests are about.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import httpx

Body = dict[str, Any]
MANAGER: Final = "mlspec-tests"
_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')
_GONE: Final = 404
_METADATA_ONLY: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@dataclass(frozen=True)
class Answer:
    """What the server said to one request."""

    status: int
    body: Body
    warnings: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the server did as asked."""
        return self.status < 400

    @property
    def message(self) -> str:
        """The server's words on a refusal."""
        return str(self.body.get("message", self.body)) if not self.accepted else ""


@dataclass(frozen=True)
class Kind:
    """Where the server keeps a kind."""

    path: str
    namespaced: bool


@dataclass
class Api:
    """A connection to an API server, as its administrator."""

    url: str
    token: str
    authority: Path
    definitions: dict[str, Body] = field(default_factory=dict)
    """CustomResourceDefinitions that were written, by name."""
    _kinds: dict[tuple[str, str], Kind] = field(default_factory=dict)

    def __post_init__(self) -> None:
        context = ssl.create_default_context(cafile=str(self.authority))
        headers = {"Authorization": f"Bearer {self.token}"}
        limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
        self.http = httpx.Client(base_url=self.url, verify=context, headers=headers, timeout=60, limits=limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def ready(self) -> bool:
        """Say whether the server takes requests."""
        try:
            return self.http.get("/readyz", timeout=2).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """Send one request; options are query parameters, `content_type` apart.

        With `brief`, a good answer holds the object's metadata only: half the time for large objects.
        """
        content_type = options.pop("content_type", "application/json")
        accept = _METADATA_ONLY if options.pop("brief", False) else "application/json"
        response = self.http.request(
            method,
            path,
            params=options,
            content=None if body is None else json.dumps(body),
            headers={"Content-Type": content_type, "Accept": accept},
        )
        warnings = _WARNING.findall(", ".join(response.headers.get_list("Warning")))
        try:
            found = response.json()
        except ValueError:
            found = {"message": response.text}
        return Answer(response.status_code, found, tuple(json.loads(f'"{w}"') for w in warnings))

    def kind(self, api_version: str, kind: str) -> Kind | None:
        """Return where the server keeps a kind, None if it knows none such."""
        if (api_version, kind) not in self._kinds:
            prefix = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            for row in self.request("GET", prefix).body.get("resources", []):
                if "/" not in row["name"]:
                    self._kinds[api_version, row["kind"]] = Kind(f"{prefix}|{row['name']}", row["namespaced"])
        return self._kinds.get((api_version, kind))

    def path(self, api_version: str, kind: str, namespace: str = "", name: str = "") -> str:
        """Return the path of an object, of a kind in a namespace, or of a kind everywhere."""
        row = self.kind(api_version, kind)
        if row is None:
            raise LookupError(f"the server has no {kind} in {api_version}")
        prefix, _, plural = row.path.partition("|")
        inside = f"/namespaces/{namespace}" if row.namespaced and namespace else ""
        return f"{prefix}{inside}/{plural}" + (f"/{name}" if name else "")

    def path_of(self, body: Body) -> str:
        """Return the path of an object."""
        meta = body["metadata"]
        namespace = meta.get("namespace", "default")
        return self.path(body["apiVersion"], body["kind"], namespace, meta["name"])

    def apply(self, body: Body, *, dry_run: bool = False, manager: str = MANAGER) -> Answer:
        """Apply an object on the server's side, every unknown or duplicate field refused."""
        try:
            path = self.path_of(body)
        except LookupError as error:
            return Answer(_GONE, {"message": str(error.args[0])})
        options: dict[str, Any] = {"fieldManager": manager, "fieldValidation": "Strict", "force": "true"}
        options |= {"dryRun": "All"} if dry_run else {}
        return self.request("PATCH", path, body, content_type="application/apply-patch+yaml", **options)

    def create(self, body: Body, *, dry_run: bool = False) -> Answer:
        """Create an object, every unknown field refused."""
        path = self.path_of(body).rpartition("/")[0]
        options: dict[str, Any] = {"fieldManager": MANAGER, "fieldValidation": "Strict"}
        options |= {"dryRun": "All"} if dry_run else {}
        return self.request("POST", path, body, **options)

    def patch(self, body: Body, change: Body, *, part: str = "") -> Answer:
        """Merge a change into a stored object or into a part of it (`/status`)."""
        return self.request("PATCH", self.path_of(body) + part, change, content_type="application/merge-patch+json")

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Body | None:
        """Return an object, None where there is none."""
        answer = self.request("GET", self.path(api_version, kind, namespace, name))
        return answer.body if answer.accepted else None

    def list(self, api_version: str, kind: str, namespace: str = "", **options: str) -> list[Body]:
        """Return the objects of a kind, with the kind and version that a list leaves out."""
        answer = self.request("GET", self.path(api_version, kind, namespace), None, **options)
        return [{"apiVersion": api_version, "kind": kind, **item} for item in answer.body.get("items") or []]

    def delete(self, body: Body, propagation: str = "Background") -> Answer:
        """Delete an object."""
        return self.request("DELETE", self.path_of(body), propagationPolicy=propagation)


@dataclass(frozen=True)
class Event:
    """A change of one object, `seconds` after the watch began."""

    seconds: float
    type: str
    body: Body


class Watch:
    """Every change of a kind, recorded in a thread; a context manager."""

    def __init__(self, api: Api, api_version: str, kind: str, namespace: str = "") -> None:
        """Watch a kind, in one namespace or everywhere."""
        self.events: list[Event] = []
        self._api, self._path = api, api.path(api_version, kind, namespace)
        self._kind: Mapping[str, str] = {"apiVersion": api_version, "kind": kind}
        self._began = time.monotonic()
        self._version = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"watch-{kind}", daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End; what was seen stays."""
        self.end()
        self._thread.join(5)

    def end(self) -> None:
        """Ask it to end, without waiting: many watches then end together."""
        self._ended.set()

    def of(self, name: str) -> list[Event]:
        """Return the changes of one object."""
        return [event for event in self.events if event.body["metadata"]["name"] == name]

    def _follow(self) -> None:
        while not self._ended.is_set():
            try:
                for line in self._lines():
                    self._see(json.loads(line))
            except httpx.HTTPStatusError:
                self._ended.wait(0.1)  # a kind that was established a moment ago is not served yet
            except (httpx.HTTPError, ValueError):
                continue  # nothing changed for a second, or the connection was cut: go on after the last version seen

    def _see(self, change: Body) -> None:
        if change["type"] == "ERROR":  # the version is too old to go on from
            self._version = ""
            return
        self._version = change["object"]["metadata"]["resourceVersion"]
        if change["type"] != "BOOKMARK":
            body = {**self._kind, **change["object"]}
            self.events.append(Event(time.monotonic() - self._began, change["type"], body))

    def _lines(self) -> Iterator[str]:
        options = {"watch": "true", "allowWatchBookmarks": "true"}
        if self._version:
            options["resourceVersion"] = self._version
        with self._api.http.stream("GET", self._path, params=options, timeout=httpx.Timeout(5, read=1)) as response:
            response.raise_for_status()
            yield from response.iter_lines()
