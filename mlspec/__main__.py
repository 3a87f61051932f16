"""Entry point; answers `--version` before anything heavy is imported."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line and exit."""
    if sys.argv[1:] == ["--version"]:
        from mlspec import __version__

        sys.stdout.write(f"mlspec {__version__}\n")
        sys.exit(0)
    # A compiler keeps nearly everything that it makes until it ends: collecting costs a fifth of the time.
    gc.set_threshold(200_000, 50, 100)
    from mlspec.cli import run

    sys.exit(run())


if __name__ == "__main__":
    main()
