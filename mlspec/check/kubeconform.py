"""kubeconform, the second opinion: the same objects, the same schemas, another program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from mlspec import cache, yamltext
from mlspec.check import tools
from mlspec.check.tools import Tool
from mlspec.k8s.resource import Body


def judge(tool: Tool, bodies: Sequence[Body], kubernetes: str, folders: Sequence[Path]) -> list[str]:
    """Return what kubeconform refuses, or could not judge; as many valid objects as there are is the only success."""
    text = yamltext.dump_all(bodies)
    command = [*tool.prefix, "-strict", "-summary", "-output", "json", "-kubernetes-version", f"{kubernetes}.0"]
    for folder in folders:
        command += ["-schema-location", f"{folder}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"]
    schemas = [path.read_text() for folder in folders for path in sorted(folder.glob("*.json"))]
    key = tools.content_key(tool, [text, kubernetes, *schemas])
    if cache.recall("kubeconform", key) is not None:
        return []
    result = tools.run([*command, "-"], stdin=text)
    try:
        report = json.loads(result.stdout)
        summary = report["summary"]
    except (ValueError, KeyError):
        return [f"kubeconform gave no verdict: {result.stderr.strip()[:200]}"]
    refused = [f"{item['kind']} {item['name']}: {item['msg']}" for item in report.get("resources") or ()]
    if summary["valid"] == len(bodies) and not refused:
        cache.remember("kubeconform", key, str(len(bodies)))
        return []
    return refused or [
        f"kubeconform judged {summary['valid']} of {len(bodies)} objects valid, {summary['skipped']} skipped"
    ]
