"""Where findings of the plan are gathered: paths in, spans of the user's own lines out."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlspec.diagnostics import Diagnostic, Severity
from mlspec.source import Mapping, Scalar
from mlspec.spec.problems import locate

Path = tuple[str | int, ...]


@dataclass(slots=True)
class Scope:
    """One project in one environment, while it is planned; the base is planned with nobody listening."""

    project: Mapping
    environment: Mapping | None
    environment_name: str | None
    base: Mapping | None
    """The project without the environment's overrides."""
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def place(self) -> str:
        """The environment in a sentence."""
        return f"environment {self.environment_name}"

    def written(self, table: str, name: str) -> bool:
        """Say whether the user wrote an entry, be it one that was taken out because it does not fit."""
        node = self.project.get(table)
        return isinstance(node, Mapping) and name in node.entries

    def taken(self, table: str, name: str) -> str:
        """Return the end of a sentence about an entry that an override took away; nothing for any other."""
        node = self.base.get(table) if self.base is not None else None
        return (
            f" in {self.place}: an override takes it away" if isinstance(node, Mapping) and name in node.entries else ""
        )

    def report(
        self,
        code: str,
        message: str,
        path: Path,
        help: str = "",
        *,
        severity: Severity = Severity.ERROR,
        at_key: bool = False,
    ) -> None:
        """Record a finding at a field of the project."""
        found = locate(self.project, path)
        short = len(found.path) < len(path) and not isinstance(found.node, Scalar)
        span = found.key_span if at_key or short else found.value_span
        dotted = ".".join(map(str, path))
        self.diagnostics.append(Diagnostic(code, message, span, dotted, help, severity))

    def written_field(self, *paths: Path) -> Path:
        """Return the first of some fields that the user wrote; the last, where it is none of them."""
        return next((path for path in paths if locate(self.project, path).path == path), paths[-1])

    def later(self, first: Path, second: Path) -> Path:
        """Return which of two fields stands further down: an override, where one of them is overridden."""
        spans = [locate(self.project, path).value_span for path in (first, second)]
        return second if spans[1] > spans[0] else first

    def report_environment(
        self, code: str, message: str, path: Path, help: str = "", *, severity: Severity = Severity.ERROR
    ) -> None:
        """Record a finding at a field of the environment's file."""
        if self.environment is None:
            return
        found = locate(self.environment, path)
        span = found.key_span if len(found.path) < len(path) else found.value_span
        self.diagnostics.append(Diagnostic(code, message, span, ".".join(map(str, path)), help, severity))
