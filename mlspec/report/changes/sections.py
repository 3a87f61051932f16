"""What differs in one environment, as sections of lines: every format shows the same."""

from __future__ import annotations

from collections.abc import Iterator

from mlspec.changes.totals import totals
from mlspec.changes.values import (
    Access,
    Change,
    Data,
    Differences,
    EnvironmentChanges,
    Field,
    Object,
    Opening,
    Opinion,
    Security,
    Service,
    Start,
)
from mlspec.report.changes.lines import Line, Row, Section, count, field_line, gpus, line, load_words, some
from mlspec.report.changes.summary import starts_words

_FIELDS = 6
"""Fields of one object that are shown; JSON has all of them."""


def sections(found: EnvironmentChanges) -> list[Section]:
    """Return the sections that have something to say, runs first."""
    differences = found.differences
    all_of_them = (
        _starts(differences),
        _runs(differences),
        Section("services", tuple(map(_service, differences.services))),
        Section("images", tuple(_images(differences))),
        Section("network openings", tuple(Row(opening(item)) for item in differences.exposure)),
        Section("data", tuple(map(_data, differences.data))),
        Section("who may do what", tuple(map(_access, differences.access))),
        Section("security", tuple(map(_security, differences.security))),
        Section("policy", tuple(map(_opinion, differences.policy))),
        Section("Argo CD", tuple(_objects(differences.argocd))),
        Section("objects that leave", tuple(_deletions(differences))),
        Section("other objects", tuple(_objects(differences.others))),
    )
    return [section for section in all_of_them if section.rows]


def title(project: str, found: EnvironmentChanges) -> Line:
    """Return what the sections are about."""
    words = {Change.ADDED: ": new", Change.REMOVED: ": gone", Change.CHANGED: ""}[found.change]
    return line(f"{{}} in {{}}{words}", project, found.environment)


def _starts(found: Differences) -> Section:
    return Section(f"starts {starts_words(totals([found]))}", tuple(map(_start, found.starts)))


def _start(start: Start) -> Row:
    replaced = ["{}: replaces {}; {}", start.run, start.replaces, load_words(start.load)]
    if start.replaces is None:
        return Row(line("{}: a new step; {}", start.run, load_words(start.load)))
    template, *values = [str(word) for word in replaced]
    return Row(line(template, *values), tuple(reason(field) for field in start.reasons))


def reason(field: Field) -> Line:
    """Return why a run has another name: one of its inputs that differs."""
    word, _, name = field.path.partition(" ")
    if word == "needs" and name:
        if field.before is None:
            return line("now needs {}", f"{name}-{field.after}")
        if field.after is None:
            return line("does not need {} any more", name)
        return line("needs {}", f"{name}-{field.after}")
    if word == "file" and name and field.before and field.after:
        return line("file {} has changed", name)
    return field_line(field)


def _runs(found: Differences) -> Section:
    rows = [
        Row(line("{} comes back: no new run", item.run))
        if item.kept
        else Row(
            line("{} comes back; it was deleted, so it starts once more, and ends at once if it is done", item.run)
        )
        for item in found.returns
    ]
    for end in found.superseded:
        held = f": {gpus(end.load.gpus)}" if end.load.gpus else ""
        words = f"keeps running if it has not ended{held}" if end.kept else "is deleted"
        rows.append(Row(line(f"{{}} is superseded, and {words}", end.run)))
    rows += [
        Row(
            line("{} stays as it is; for the next run count", later.run),
            tuple(some(later.fields or later.made, _FIELDS)),
        )
        for later in found.later
    ]
    return Section("other runs", tuple(rows))


def _service(service: Service) -> Row:
    taken = f", {gpus(service.load.gpus)}" if service.load.gpus else ""
    if service.change is Change.REMOVED:
        return Row(line(f"{{}} is removed: {service.kind}, {_pods(service.replicas_before)}{taken}", service.name))
    if service.change is Change.ADDED:
        models = tuple(line("model: {}", model) for model in service.models_after)
        return Row(line(f"{{}} is new: {service.kind}, {_pods(service.replicas_after)}{taken}", service.name), models)
    rows = []
    told = set()
    if service.model_changes:
        told.add(("\n".join(service.models_before), "\n".join(service.models_after)))
        rows.append(field_line(Field("model", _joined(service.models_before), _joined(service.models_after))))
    if service.replicas_before != service.replicas_after:
        rows.append(field_line(Field("replicas", service.replicas_before, service.replicas_after)))
    fields = [
        field
        for field in service.fields
        if (field.before, field.after) not in told and field.path not in ("replicas", "replicas.min", "replicas.max")
    ]
    return Row(line(f"{{}}, {service.kind}", service.name), (*rows, *some(fields, _FIELDS)))


def _pods(replicas: str | None) -> str:
    return f"{replicas} pod{'s' if replicas != '1' else ''}"


def _joined(models: tuple[str, ...]) -> str | None:
    return ", ".join(models) or None


def _images(found: Differences) -> Iterator[Row]:
    for image in found.images:
        before, after = (", ".join(images) or None for images in (image.before, image.after))
        yield Row(field_line(Field(image.workload, before, after)))


def opening(found: Opening) -> Line:
    """Return an opening in words: `train may now reach huggingface (0.0.0.0/0:443)`."""
    now = "now" if found.opened else "no longer"
    where = _where(found)
    if found.direction == "ingress":
        return line(f"{{}} may {now} be reached by {{}}", found.workload, where)
    if found.destinations:
        return line(f"{{}} may {now} reach {{}} ({{}})", found.workload, ", ".join(found.destinations), where)
    return line(f"{{}} may {now} reach {{}}", found.workload, where)


def _where(found: Opening) -> str:
    if not found.ports:
        return f"{found.peer}, all ports"
    is_network = found.peer[:1].isdigit() and ":" not in found.peer and " " not in found.peer
    if is_network and "," not in found.ports:
        return f"{found.peer}:{found.ports}"
    return f"{found.peer}, port{'s' if ',' in found.ports else ''} {found.ports}"


def _data(data: Data) -> Row:
    what = ", ".join(word for word in (data.size, data.access, data.storage_class) if word)
    if data.change is Change.ADDED:
        return Row(line("volume {} is new: {}", data.claim, what))
    if data.change is Change.REMOVED:
        return Row(line("volume {} is gone; its data stays in the cluster, unmanaged: {}", data.claim, what))
    errors = tuple(line(f"error: {message}; the API server will refuse it") for message in data.refused)
    return Row(line("volume {}", data.claim), (*map(field_line, data.fields), *errors))


def _access(access: Access) -> Row:
    if access.kind == "ServiceAccount":
        return Row(line("account {}", access.name), tuple(some(access.fields, _FIELDS)))
    state = {Change.ADDED: " is new", Change.REMOVED: " is gone", Change.CHANGED: ""}[access.change]
    what = "role" if access.kind == "Role" else "binding"
    if access.kind == "Role" and access.change is not Change.CHANGED:
        rights = access.gained or access.lost
        return Row(line(f"{what} {{}}{state}: {count(len(rights), 'right')}", access.name))
    details = [line("gained: {}", right) for right in access.gained[:_FIELDS]]
    details += [line("lost: {}", right) for right in access.lost[:_FIELDS]]
    more = max(0, len(access.gained) - _FIELDS) + max(0, len(access.lost) - _FIELDS)
    details += [line(f"and {count(more, 'more right')}")] if more else []
    return Row(line(f"{what} {{}}{state}", access.name), (*details, *some(access.fields, _FIELDS)))


def _security(found: Security) -> Row:
    field = found.field
    return Row(field_line(Field(f"{found.kind} {found.name}: {field.path}", field.before, field.after)))


def _opinion(found: Opinion) -> Row:
    values = [text for text in (found.before, found.after) if text is not None]
    if found.where == "environment":
        states = ("weighs {}", "weighs {} no more", "weighs {} → {}")
    else:
        states = ("is accepted: {}", "is accepted no more: {}", "is accepted for another reason: {} → {}")
    state = states[2] if len(values) > 1 else states[0] if found.before is None else states[1]
    return Row(line(f"{{}} {{}} {state}", found.where, found.code, *values))


def _objects(found: tuple[Object, ...]) -> Iterator[Row]:
    """Yield objects that come or go by their number, and each one that changes with what does."""
    for change, words in ((Change.ADDED, "new"), (Change.REMOVED, "gone")):
        kinds: dict[str, list[str]] = {}
        for item in found:
            if item.change is change:
                kinds.setdefault(item.kind, []).append(item.name)
        for kind, names in sorted(kinds.items()):
            yield Row(line(f"{count(len(names), kind)} {words}: {{}}", ", ".join(names)))
    for item in found:
        if item.change is Change.CHANGED:
            yield Row(line(f"{item.kind} {{}}", item.name), tuple(some(item.fields, _FIELDS)))


def _deletions(found: Differences) -> Iterator[Row]:
    kinds: dict[tuple[str, bool], list[str]] = {}
    for deletion in found.deletions:
        if deletion.kind != "PersistentVolumeClaim":  # told as data
            kinds.setdefault((deletion.kind, deletion.stays), []).append(deletion.name)
    for (kind, stays), names in sorted(kinds.items()):
        words = "stays in the cluster, unmanaged" if stays else "deleted"
        yield Row(line(f"{count(len(names), kind)} {words}: {{}}", ", ".join(names)))
