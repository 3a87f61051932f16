"""What cannot be run on this computer, said in words."""

from __future__ import annotations


class CannotRunError(Exception):
    """Something stands in the way before any program was started; each message is one line with its remedy."""

    def __init__(self, *messages: str) -> None:
        super().__init__("\n".join(messages))
        self.messages = messages
