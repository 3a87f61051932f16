"""Findings 5xx: drift and files."""

from __future__ import annotations

from typing import Final

from mlspec.codes.code import UNUSABLE, Code

FILES: Final[dict[str, Code]] = {
    "MLS501": Code(
        "out of date",
        "The file in generated/ is what mlspec wrote, but the inputs have changed since. Run `mlspec generate`.",
    ),
    "MLS502": Code("missing", "A file that belongs in generated/ is not there. Run `mlspec generate`."),
    "MLS503": Code(
        "edited by hand",
        "The file in generated/ is not what mlspec wrote. Put the change into mlproject.yaml; "
        "`mlspec generate` restores the file.",
    ),
    "MLS504": Code(
        "not written by mlspec",
        "A file stands in generated/ that mlspec did not write. mlspec neither overwrites nor deletes it.",
    ),
    "MLS505": Code(
        "interrupted", "A `generate` was killed half-way. Every file is whole; run `mlspec generate` to finish."
    ),
    "MLS506": Code(
        "cannot be written", "The operating system refuses to write. No file was changed.", exit_code=UNUSABLE
    ),
    "MLS507": Code("lock cannot be read", "mlspec.lock is not what mlspec writes. Restore it from Git."),
    "MLS508": Code(
        "run edited by hand",
        "A run's file is written once. Kubernetes ignores or refuses an edit of a run, so an edited file would be a "
        "lie. Restore it from Git, and change mlproject.yaml to start another run.",
    ),
    "MLS509": Code(
        "not needed any more",
        "The file belongs to a project or environment that is gone. `mlspec generate` removes it.",
    ),
    "MLS510": Code(
        "exists already",
        "`mlspec init` would write this file, or change what it means, since common.yaml is merged under every "
        "environment. Nothing was written. Choose another folder, or move the file away.",
    ),
    "MLS511": Code(
        "not as Git has it",
        "`mlspec promote` changes mlproject.yaml, and a promotion is a commit of its own. The file has changes that "
        "are not committed, holds an unresolved merge conflict, or was changed meanwhile. Nothing was written.",
    ),
    "MLS512": Code(
        "no such run to promote",
        "A service serves a run of the step that its `model.from` names: the current one, or one whose file is kept in "
        "generated/ for that environment. A run that was never generated never started, so it has no model. Nothing "
        "was written.",
    ),
    "MLS513": Code(
        "cannot be edited in place",
        "`mlspec promote` sets one value of mlproject.yaml and keeps every other byte. It reads the result again, and "
        "where that would not mean what was meant, it writes nothing. Write the pin by hand: "
        "`environments.<env>.services.<service>.model.run`.",
    ),
}
