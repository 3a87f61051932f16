"""docs/policy-tools.md: for a platform engineer who wants to run a tool of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tests.policy_tools.findings import TOOLS, Accepted, Finding, Table, places
from tests.policy_tools.judged import Blind, Judged
from tests.tools.build import KUBE_SCORE
from tests.tools.python_tools import CHECKOV

COMMANDS: Final = (
    "{ mlspec render -e prod; echo ---; mlspec render --projected -e prod; } > prod.yaml",
    "checkov --file prod.yaml --framework kubernetes --skip-download",
    "kube-score score prod.yaml --kubernetes-version v1.34 --all-default-optional",
)
_HEAD: Final = f"""\
<!-- Made by `pytest tests/test_policy_tools.py --update-golden` of tests/policy_tools/accepted.yaml. -->
# Policy tools

Tools that judge pods in a pull request look for Pods, Deployments and Jobs. What trains and serves stands in custom
resources, where they find nothing, and do not say that they have not looked. mlspec knows which pods each operator
makes of what it writes. It judges them itself (`mlspec check`), and prints them as plain Pods for tools and rules of
your own:

```sh
{"".join(f"{command}{chr(10)}" for command in COMMANDS)}```

Both streams together, so that a tool sees the NetworkPolicies, ServiceAccounts and Roles beside the pods. Write a file
for each environment: checkov does not look at namespaces, and takes a policy of one for a policy of another.

Below is what [checkov](https://github.com/bridgecrewio/checkov) {CHECKOV.version} and
[kube-score](https://github.com/zegl/kube-score) {KUBE_SCORE.version.removeprefix("v")}, with its optional checks, find
in the golden projects of this repository. A test runs both, and fails where they find more than stands here, or less.
"""
_BLIND: Final = """\
## The blind spot

Of each kind, one object is made dangerous: its pods are privileged, root and in the network of their node. The last two
columns are what is found in that object, and in its projected pods.

| custom resource | objects | judged by checkov | judged by kube-score | findings in the dangerous one | in its pods |
|---|---|---|---|---|---|
"""
_SEEN: Final = """\
## What they find in projected pods

Shown are {projects} projects, each in one environment: {pods} pods with {containers} containers, and {others} other
objects. Apart from the tables below, no pod is privileged, shares a namespace or a path of its node, or mounts a token;
no container runs as root or with a low user, with a writable root, a capability, without a limit or a seccomp profile;
every pod is selected by a NetworkPolicy; every NetworkPolicy, and every Service with a selector, selects a pod; no Role
grants what it should not. A number is of the containers, or pods, that a tool finds something in.
"""


def page(table: Table, judged: Judged) -> str:
    """Return the text of the page."""
    found = judged.findings
    sections = [
        _HEAD,
        _BLIND + "".join(_blind_row(blind) for blind in judged.blind),
        _seen(judged),
        "### In what mlspec writes\n\n" + "".join(_rows(table.written, found)),
        "### In what operators add\n\n" + "".join(_rows(table.added, found)),
        "## The checks\n\n" + "".join(_checks(table)),
    ]
    return "\n".join(sections)


def _blind_row(blind: Blind) -> str:
    judged = [str(blind.said[tool].judged) for tool in TOOLS]
    in_object, in_pods = (
        ", ".join(f"{tool} {len(reports[tool].failed)}" for tool in TOOLS)
        for reports in (blind.dangerous, blind.projected)
    )
    return f"| {blind.kind} | {blind.objects} | {' | '.join(judged)} | {in_object} | {in_pods} |\n"


def _seen(judged: Judged) -> str:
    pods = sum(len(each.pods) for each in judged.subjects)
    return _SEEN.format(
        projects=len(judged.subjects),
        pods=pods,
        containers=sum(len(each.containers) for each in judged.subjects),
        others=sum(len(each.bodies) for each in judged.subjects) - pods,
    )


def _rows(rows: Iterable[Accepted], found: list[Finding]) -> Iterator[str]:
    yield "| what | in | checks | why it stays | who can mend it |\n|---|---|---|---|---|\n"
    for row in rows:
        checks = "; ".join(
            f"{tool} ({places(found, row, tool)}): {', '.join(f'`{check}`' for check in row.checks[tool])}"
            for tool in TOOLS
            if tool in row.checks
        )
        yield f"| {row.about} | {'<br>'.join(row.on)} | {checks} | {row.reason} | {row.mend} |\n"


def _checks(table: Table) -> Iterator[str]:
    yield "| check | of | asks for |\n|---|---|---|\n"
    for check, words in table.checks.items():
        tool = next(tool for row in table.rows for tool, checks in row.checks.items() if check in checks)
        yield f"| `{check}` | {tool} | {words} |\n"
