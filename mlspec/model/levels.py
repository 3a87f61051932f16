"""The levels of the Pod Security Standards, as the labels of a namespace spell them."""

from __future__ import annotations

from typing import Literal

Level = Literal["privileged", "baseline", "restricted"]
