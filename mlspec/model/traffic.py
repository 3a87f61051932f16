"""How the predictors of a service share its requests (Seldon Core 1.x, seldondeployment_webhook.go)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Share(NamedTuple):
    """A predictor's part in the requests; None: it says none."""

    name: str
    traffic: int | None
    shadow: bool


class Problem(NamedTuple):
    """What is wrong with a share, at a field of its predictor; `other` is the predictor that it does not go with."""

    code: str
    message: str
    name: str
    field: str
    help: str
    other: str | None = None


def problems(shares: Sequence[Share]) -> Iterator[Problem]:
    """Yield what is wrong with the shares of all predictors of a service, in the order written."""
    shadows = [share for share in shares if share.shadow]
    answering = [share for share in shares if not share.shadow]
    if len(shadows) > 1:
        first, second = shadows[:2]
        message = f"`{first.name}` and `{second.name}` are shadows, but requests are copied to one"
        yield Problem("MLS234", message, second.name, "shadow", "keep one of them", first.name)
    elif shadows and not answering:
        message = f"`{shadows[0].name}` gets copies of requests that nobody answers"
        yield Problem("MLS234", message, shadows[0].name, "shadow", "remove `shadow`, or add a predictor")
    yield from _sum(answering)


def _sum(answering: Sequence[Share]) -> Iterator[Problem]:
    total = sum(share.traffic or 0 for share in answering)
    silent = [share for share in answering if share.traffic is None]
    if len(answering) == 1 and not silent and total != 100:
        message = f"`{answering[0].name}` alone answers requests, but {total} percent of them"
        yield Problem("MLS233", message, answering[0].name, "traffic", "write `traffic: 100`, or remove it")
    if len(answering) < 2:
        return
    for share in silent:
        what = f"{100 - total}`" if len(silent) == 1 and total <= 100 else "…`, so that all add up to 100"
        message = f"predictor `{share.name}` says no share of the requests"
        yield Problem("MLS233", message, share.name, "traffic", f"add `traffic: {what}")
    if not silent and total != 100:
        before, last = answering[-2:]
        rest = 100 - total + (last.traffic or 0)
        help = f"write `traffic: {rest}` in `{last.name}`" if 0 <= rest <= 100 else "lower the others too"
        message = f"traffic is {' + '.join(str(share.traffic) for share in answering)} = {total}, not 100"
        yield Problem("MLS233", message, last.name, "traffic", help, before.name)
