"""Text of users inside of Markdown and HTML, as GitHub and GitLab read them: it is shown, and does nothing."""

from __future__ import annotations

import html
import re
from typing import Final

from mlspec.report.text import safe

# Outside of a code span only what can be no syntax: neither emphasis, HTML, links, mentions, emoji nor references.
_PLAIN: Final = re.compile(r"[\w ,.;:!()'\"/+=%?→≥≤…×–-]*")
_SPOKEN: Final = re.compile(r"www\.|://|mailto:|xmpp:|_|:[\w+-]+:|\bGH-\d|^\s*(?:[-+=]|\d+[.)])", re.IGNORECASE)
_QUOTED: Final = re.compile(r"`([^`]*)`")


def code(text: str) -> str:
    """Return text as a code span, in which neither Markdown, HTML nor mentions mean anything; a `|` splits no cell."""
    # Whether a `|` behind two backslashes splits a cell, renderers do not agree.
    clean = safe(text.replace("\r\n", "\n")).replace("\\|", "\\ |").replace("|", "\\|")
    longest = max((len(ticks) for ticks in re.findall("`+", clean)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if clean[:1] in ("`", " ", "") or clean[-1:] in ("`", " ") else ""
    return f"{fence}{padding}{clean}{padding}{fence}"


def sentence(text: str) -> str:
    """Return a message of ours with values of users' in it: what it quotes, and what could be syntax, is code.

    Which of its words are a user's a message does not tell, so words are plain only where they can mean nothing.
    """
    shown, at = [], 0
    for quoted in _QUOTED.finditer(text):
        shown += [_plain(text[at : quoted.start()]), code(quoted.group(1))]
        at = quoted.end()
    return _joined([*shown, _plain(text[at:])])


def _joined(parts: list[str]) -> str:
    """Return the parts as one text; two code spans side by side would be one with other fences."""
    text = ""
    for part in filter(None, parts):
        text += f" {part}" if text.endswith("`") and part.startswith("`") else part
    return text


def _plain(text: str) -> str:
    words = safe(text)
    if _PLAIN.fullmatch(words) and not _SPOKEN.search(words):
        return words
    before, after = len(words) - len(words.lstrip(" ")), len(words.rstrip(" "))
    return words[:before] + code(words[before:after]) + words[after:] if words.strip(" ") else words


def element(text: str) -> str:
    """Return text as an HTML element for code, for a `<summary>`, in which Markdown does not count."""
    return f"<code>{html.escape(safe(text))}</code>"
