"""Keeps one comment on a pull request: makes it, or edits the one that is there; a refusal is said, and is no failure.

    python comment.py FILE

The environment tells where: GITHUB_API_URL, GITHUB_REPOSITORY, PULL_REQUEST, ROOT, TOKEN. Only the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

_MOST: Final = 65_536
"""Characters that GitHub takes."""
_PAGE: Final = 100
_PAGES: Final = 30
_SECONDS: Final = 30
_CUT: Final = "\n\nThe rest is left out: it would be longer than a comment may be.\n"
_WHY: Final = {
    401: "the token is not valid",
    403: "the token may not write (a fork's may only read; else: permissions: pull-requests: write)",
    404: "there is no such pull request, or the token may not see it",
}


class RefusedError(Exception):
    """GitHub did not do what it was asked for."""


class SilentError(Exception):
    """There is nothing to say, and nothing was said before."""


def marker(root: str) -> str:
    """Return the first line of the comment, which nobody sees, and by which it is known again: one a root."""
    return f"<!-- mlspec diff: {urllib.parse.quote(os.path.normpath(root), safe='/')} -->"


def body(root: str, text: str) -> str:
    """Return the comment."""
    whole = f"{marker(root)}\n{text}"
    return whole if len(whole) <= _MOST else whole[: _MOST - len(_CUT)].rpartition("\n")[0] + _CUT


def ask(method: str, path: str, content: dict[str, str] | None = None) -> Any:
    """Return GitHub's answer as JSON; raises RefusedError."""
    url = f"{os.environ.get('GITHUB_API_URL', 'https://api.github.com')}{path}"
    if not url.startswith(("https://", "http://")):
        raise RefusedError(f"{url} is no address")
    request = urllib.request.Request(url, method=method)  # noqa: S310  # http or https
    request.add_header("Accept", "application/vnd.github+json")
    request.add_header("Authorization", f"Bearer {os.environ.get('TOKEN', '')}")
    request.add_header("X-GitHub-Api-Version", "2022-11-28")
    request.add_header("User-Agent", "mlspec")
    data = None
    if content is not None:
        data = json.dumps(content).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, data, timeout=_SECONDS) as answer:  # noqa: S310  # as above
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            raise RefusedError(f"{error.code}: {_WHY.get(error.code, error.reason)}") from None
    except (OSError, ValueError) as error:
        raise RefusedError(f"no answer: {error}") from None


def comments(issue: str) -> Iterator[dict[str, Any]]:
    """Yield the comments of a pull request, from the first."""
    for page in range(1, _PAGES + 1):
        found = ask("GET", f"{issue}/comments?per_page={_PAGE}&page={page}")
        yield from found
        if len(found) < _PAGE:
            return


def own(issue: str, root: str) -> dict[str, Any] | None:
    """Return the comment that was made before.

    Anybody can write the marker, and edit a comment of theirs later: only one of an app's or of our own counts.
    """
    found = [item for item in comments(issue) if str(item.get("body", "")).startswith(marker(root))]
    for item in found:
        if (item.get("user") or {}).get("type") == "Bot":
            return item
    if not found:
        return None
    try:
        me = ask("GET", "/user").get("login")
    except RefusedError:  # an app's token has no user
        return None
    return next((item for item in found if (item.get("user") or {}).get("login") == me), None)


def keep(text: str) -> str:
    """Make the comment or edit it; returns what was done. Raises RefusedError and SilentError."""
    repository, number, root = (os.environ.get(name, "") for name in ("GITHUB_REPOSITORY", "PULL_REQUEST", "ROOT"))
    if not number.isdecimal():
        raise RefusedError("this is no pull request")
    repository = urllib.parse.quote(repository, safe="/")
    before = own(f"/repos/{repository}/issues/{number}", root or ".")
    content = {"body": body(root or ".", text)}
    if before is None:
        if text.startswith("Nothing differs"):
            raise SilentError
        made = ask("POST", f"/repos/{repository}/issues/{number}/comments", content)
        return f"made {made.get('html_url', 'the comment')}"
    if str(before["body"]).replace("\r\n", "\n").rstrip() == content["body"].rstrip():
        return "the comment says so already"
    ask("PATCH", f"/repos/{repository}/issues/comments/{int(before['id'])}", content)
    return f"edited {before.get('html_url', 'the comment')}"


def main() -> int:
    """Keep the comment; returns the exit code, which is 0 unless this program was called wrongly."""
    try:
        text = Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace")
    except (IndexError, OSError):
        print("usage: comment.py FILE", file=sys.stderr)
        return 2
    try:
        print(keep(text))
    except SilentError:
        print("nothing differs, and no comment said otherwise")
    except RefusedError as error:
        words = " ".join(str(error).split())
        print(f"::notice title=no comment::The summary of this step says what the change means; no comment: {words}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
