"""Every field in, the reference page out: docs/spec.md, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlspec.all_kinds import KINDS, SERVICE_KINDS, STEP_KINDS
from mlspec.reference.fields import ENVIRONMENT, Definition, Use, pairs
from mlspec.reference.words import default_words, example_lines, type_words

_HEAD: Final = """\
# The spec

Every field of `mlproject.yaml` and `environments/<env>.yaml`, from the models that read them: `mlspec explain \
--reference` prints this page, and `mlspec explain FIELD` one field of it. Unknown keys are refused, never ignored.

## Words

| word | means |
|---|---|
| text | the scalar as written: `10`, `1e-4`, `no` and `0.20` need no quotes |
| bool, int | `true` or `false`; decimal digits; both without quotes |
| name | lower-case letters, digits and `-`, beginning with a letter, not ending with `-`; at most 63 characters, \
a step's 24. Steps and services share one set of names |
| Kubernetes name | the name of something that exists already, as Kubernetes allows it |
| quantity | of Kubernetes: `500m`, `2`, `16Gi`; written out in its canonical form |
| duration | one number and a unit: `300ms`, `30s`, `10m`, `12h`, `7d` |
| version | major and minor: `1.34` |
| network | in CIDR form: `10.0.0.0/8` |
| pattern | text in which `{project}`, `{environment}` and `{owner}` are filled in |
| `<name>`, `<n>` | a name of yours; the number of an entry in a list |

**Overrides.** Below `environments.<env>` any field of a project may stand again, but `apiVersion`, `kind`, `name` and \
`owner`. Maps merge, scalars and lists replace, `null` takes a field away.

**The name of a run** is `<step>-<hash>`. Fields marked *run* are part of the hash, as they are written: another value \
is another run. What the environment's file says is not part of it, its name is.
"""
_FIELDS: Final = "| field | type | default | meaning | goes to | example |\n|---|---|---|---|---|---|\n"
_RUN_FIELDS: Final = "| field | run | type | default | meaning | goes to | example |\n|---|---|---|---|---|---|---|\n"


def page() -> str:
    """Return the page."""
    return _HEAD + "".join(_sections())


def _sections() -> Iterator[str]:
    seen: set[int] = set()
    yield "\n## mlproject.yaml\n\nEach YAML document of the file is one project.\n\n"
    yield _table(("", ""), (), seen)
    yield "\n## Steps\n\nRun to completion, in the order that `needs` gives.\n\n### Every step\n\n"
    yield _table(("steps", ""), ("steps", "<name>"), seen, runs=True)
    for kind in STEP_KINDS:
        yield _kind("steps", kind.TAG, seen)
    yield "\n## Services\n\nLong-lived, named as they are written.\n\n### Every service\n\n"
    yield _table(("services", ""), ("services", "<name>"), seen)
    for kind in SERVICE_KINDS:
        yield _kind("services", kind.TAG, seen)
    yield "\n## environments/&lt;env&gt;.yaml\n\n"
    yield "The name of the file is the name of the environment; `common.yaml` is merged under each, and every field of "
    yield "it is optional. In `mlspec explain` these paths may begin with `environment.`\n\n"
    yield _table((ENVIRONMENT, ""), (ENVIRONMENT,), seen)


def _kind(section: str, tag: str, seen: set[int]) -> str:
    gvk = KINDS[tag].GVK
    head = f"\n### kind: {tag}\n\nBecomes: {gvk.kind} of {gvk.api_version}.\n\n"
    return head + _table((section, tag), (section, "<name>"), seen, runs=section == "steps")


def _table(section: tuple[str, str], above: tuple[str, ...], seen: set[int], *, runs: bool = False) -> str:
    """Return the fields of a section that are new to the page; those of steps that it has too are named below."""
    rows: list[str] = []
    again: dict[str, None] = {}
    before = set(seen)
    for definition, use in pairs():
        if use.section != section:
            continue
        path = use.path[len(above) :]
        if id(definition) not in seen:
            seen.add(id(definition))
            rows.append(_row(definition, use, path, runs=runs))
        elif len(path) == 1 and id(definition) in before:
            again[f"`{path[0]}`"] = None
    text = (_RUN_FIELDS if runs else _FIELDS) + "".join(rows) if rows else ""
    return text + ("\n" if text and again else "") + (f"As in steps: {', '.join(again)}.\n" if again else "")


def _row(definition: Definition, use: Use, path: tuple[str, ...], *, runs: bool) -> str:
    marked = "run" if use.hashed or use.top == "needs" else ""
    cells = [
        f"`{'.'.join(path)}`",
        *([marked] if runs else []),
        type_words(definition.type),
        default_words(definition),
        " ".join(filter(None, (definition.meaning, _told_before(use, len(use.path) - len(path))))),
        definition.goes,
        "<br>".join(f"`{line}`" for line in example_lines(definition)),
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _told_before(use: Use, above: int) -> str:
    """Return a sentence about fields of a map that stand above in the page, inside another of the same model."""
    told: dict[str, tuple[str, ...]] = {}
    new = False
    for definition, other in pairs():
        if other.kind == use.kind and _is_inside(other.path, use.path):
            first = definition.uses[0].path
            if _is_inside(first, use.path):
                new = True
            else:
                told[f"`{other.path[-1]}`"] = first[:-1]
    if not told:
        return ""
    if new:
        return f"With {', '.join(told)}, as above."
    return f"Its fields: as in `{'.'.join(max(told.values(), key=len)[above:])}`."


def _is_inside(path: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Say whether a path is one of the fields directly inside a map, or inside the maps of a table or list."""
    rest = [part for part in path[len(whole) :] if not part.startswith("<") or "/" in part]
    return path[: len(whole)] == whole and len(rest) == 1
