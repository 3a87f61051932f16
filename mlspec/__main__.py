"""Entry point; answers `--version` before anything heavy is imported."""

from __future__ import annotations

import gc
import sys

from mlspec.streams import close_outlets, open_outlets


def main() -> None:
    """Run the command line and exit."""
    open_outlets()
    code = _run()
    problem = close_outlets()
    if problem is not None:
        sys.stderr.write(f"stdout cannot be written: {problem}\n")
        sys.stderr.flush()
        code = 2
    sys.exit(code)


def _run() -> int:
    if sys.argv[1:] == ["--version"]:
        from mlspec import __version__

        sys.stdout.write(f"mlspec {__version__}\n")
        return 0
    # A compiler keeps nearly everything that it makes until it ends: collecting costs a fifth of the time.
    gc.set_threshold(200_000, 50, 100)
    from mlspec.cli import run

    return run()


if __name__ == "__main__":
    main()
