"""Findings in, JSON for programs out; the format is stable and numbered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mlspec.diagnostics import Accepted, Diagnostic, Severity, Span


def render(diagnostics: Sequence[Diagnostic], accepted: Sequence[Accepted] = (), lines: Sequence[str] = ()) -> str:
    """Return one JSON document, version 1: docs/output-formats.md describes it, schemas/findings.schema.json judges it.

    `lines` say what each judge looked at; what is indented below one says again what was accepted, and is left out.
    """
    document = {
        "version": 1,
        "diagnostics": [_diagnostic(diagnostic) for diagnostic in diagnostics],
        "accepted": [_accepted(item) for item in accepted],
        "judges": [line for line in lines if not line.startswith(" ")],
        "summary": {f"{severity}s": sum(d.severity is severity for d in diagnostics) for severity in Severity},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "path": diagnostic.path,
        "file": diagnostic.span.file,
        "range": _range(diagnostic.span),
        "help": diagnostic.help,
        "related": [{"file": r.span.file, "range": _range(r.span), "message": r.message} for r in diagnostic.related],
    }


def _accepted(item: Accepted) -> dict[str, Any]:
    from mlspec.literals.redaction import redact  # late: a root without policy findings needs no patterns

    message = redact(item.message)
    return {"code": item.code, "message": message, "reason": redact(item.reason), "path": ".".join(item.path)}


def _range(span: Span) -> dict[str, dict[str, int]]:
    return {
        "start": {"line": span.line, "column": span.column},
        "end": {"line": span.end_line, "column": span.end_column},
    }
