"""Text of a container as it reads on this computer: `$(NAME)` expanded, paths below mounts exchanged; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(\$|\(([^)]*)\))")


def expanded(text: str, known: Mapping[str, str]) -> str:
    """Expand `$(NAME)` as Kubernetes does: `$$` is `$`, and a name that is not known stays as it is written.

    As third_party/forked/golang/expansion/expand.go of k8s.io/kubernetes 1.34: what was put in is not expanded again.
    """

    def exchange(found: re.Match[str]) -> str:
        if found[1] == "$":
            return "$"
        return known.get(found[2], found[0])

    return _REFERENCE.sub(exchange, text)


class Places:
    """Where paths of a container are on this computer."""

    def __init__(self, places: Mapping[str, str]) -> None:
        """Take folders and files of the container, each with its path here."""
        self._places = {f"/{inside.strip('/')}": here for inside, here in places.items()}
        longest = sorted(self._places, key=len, reverse=True)
        paths = "|".join(re.escape(path) for path in longest)
        # Not inside another path or URI, and not the beginning of another name.
        self._pattern = re.compile(rf"(?<![\w.~/-])({paths})(?![\w.~-])" if longest else r"(?!)")

    def here(self, text: str) -> str:
        """Return a text whose paths below a mount are exchanged; what is put in is not expanded afterwards."""
        return self._pattern.sub(lambda found: self._places[found[1]].replace("$", "$$"), text)

    def covers(self, path: str) -> bool:
        """Say whether a path of the container is one of this computer."""
        return self._pattern.match(path) is not None
