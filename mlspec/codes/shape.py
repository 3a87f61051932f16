"""Findings 1xx: source and shape."""

from __future__ import annotations

from typing import Final

from mlspec.codes.code import UNUSABLE, Code

SHAPE: Final[dict[str, Code]] = {
    "MLS101": Code(
        "not valid YAML",
        "The text cannot be read as YAML. Reading goes on at the next `---`, so one broken document does not hide "
        "findings in the others. Tabs cannot indent; a value with `: ` or a leading `@`, `` ` ``, `%` needs quotes.",
    ),
    "MLS102": Code(
        "unknown key",
        "The key is not a field of this map. Keys are never ignored: a misspelt field would otherwise be a silent "
        "default in production. `mlspec schema` prints every field.",
    ),
    "MLS103": Code("missing key", "A required field is absent. The finding points at the map that lacks it."),
    "MLS104": Code(
        "wrong type",
        "The value is a map where text is expected, or the like. Text fields take a scalar as written; typed fields "
        "are strict: a number or a boolean in quotes is text.",
    ),
    "MLS105": Code(
        "value not accepted",
        "The value has the right type but not the right form: a name, quantity, duration, image reference, path, "
        "URL or word of a closed set that Kubernetes or mlspec would refuse.",
    ),
    "MLS106": Code(
        "key twice",
        "The same key stands twice in one map. Most YAML readers keep the last one silently.",
    ),
    "MLS107": Code(
        "YAML feature not allowed",
        "Anchors, aliases, merge keys, tags and keys that are not text make a file that two readers understand "
        "differently. Write values out; what environments share belongs above `environments:`.",
    ),
    "MLS108": Code(
        "too large",
        "The file is larger than 1 MiB, is nested deeper than 64 levels, or holds more than 100,000 values, 1,000 "
        "documents or 10,000 faults; a key is longer than 1,024 characters, or a text longer than 128 KiB, which is "
        "more than a program can be given. Or a project has more than 200 steps, services and predictors, with which "
        "`kustomize build` would take minutes, or a step ships more than 500 files.",
    ),
    "MLS109": Code(
        "not plain UTF-8 text",
        "The file is binary, not UTF-8, or holds a character that YAML forbids, or one that shows a reviewer something "
        "else than mlspec reads: text that is turned around, characters that cannot be seen, ends of lines that only "
        "some programs see. Comments count, and so do escapes.",
    ),
    "MLS110": Code(
        "empty", "The file or document holds nothing. A project starts with `apiVersion: mlspec.dev/v1alpha1`."
    ),
    "MLS111": Code("a folder, not a file", "A folder stands where a file is expected."),
    "MLS112": Code(
        "cannot be read",
        "The operating system refuses to read the file: permissions, a broken link, an I/O error. Or it is no file: a "
        "pipe, a device. Or a symbolic link on the way to it leads out of the root, where it is in no commit.",
        exit_code=UNUSABLE,
    ),
}
