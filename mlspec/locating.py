"""What is wrong with an object of a compiled project, said at the field that made it.

Provenance is imported late: most roots have no finding to locate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlspec.check.objects import Fault
from mlspec.check.quiet import DRIFT, FIGHT
from mlspec.compiled import Compiled
from mlspec.diagnostics import Diagnostic
from mlspec.k8s.resource import Body, Resource
from mlspec.spec.workspace import LoadedEnvironment
from mlspec.validation.objection import Objection

if TYPE_CHECKING:
    from mlspec.provenance import Path, Seen, View


def located(compiled: Compiled, environment: LoadedEnvironment, of: Resource | Body, fault: Fault) -> Diagnostic:
    """Return a fault of an object as a finding at the field that made it, or at the operation of a patch that did."""
    return seen(compiled, environment, of, fault).alone


def seen(compiled: Compiled, environment: LoadedEnvironment, of: Resource | Body, fault: Fault) -> Seen:
    """Return a fault of an object, which is one of Argo CD's where it is no resource."""
    from mlspec import provenance

    body, origin = (of.body, of.origin) if isinstance(of, Resource) else (of, ("name",))
    view = _view(compiled, environment, body, origin)
    # What law 8 has against an operation is the same in every environment, and then said once.
    quiet = fault.operation is not None and fault.code in (FIGHT, DRIFT)
    objection = Objection(fault.code, fault.message, fault.path, fault.help, fault.key)
    return provenance.seen(view, objection, fault.operation, because=fault.because, general=quiet)


def _view(compiled: Compiled, environment: LoadedEnvironment, body: Body, origin: tuple[str, ...]) -> View:
    from mlspec import provenance

    variant = compiled.project.variants[environment.name]
    return provenance.View(compiled.plans[environment.name], body, origin, variant, environment)


def once(found: list[Seen]) -> list[Diagnostic]:
    """Return findings, one for all environments in which the same is said of the same line."""
    if not found:
        return []
    from mlspec import provenance

    return provenance.once(found)


def made_by(compiled: Compiled, environment: LoadedEnvironment, resource: Resource, field: Path) -> tuple[str, ...]:
    """Return the field of the project that makes a field of an object, or the part of a patch that does."""
    from mlspec import provenance

    return provenance.made_by(_view(compiled, environment, resource.body, resource.origin), resource.patched, field)
