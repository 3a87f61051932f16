"""The command line: lazy commands, exit codes, and the one place that catches everything.

Exit codes: 0 fine; 1 findings, drift or a diff; 2 usage, a missing or unreadable path, a missing tool, an
internal error; 130 interrupt.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import Final

import click

from mlspec import __version__

# Name, module in mlspec.commands, and the line of `--help`, which must not import the commands.
_COMMANDS: Final = {
    "check": ("check", "Judge projects: rules, schemas, references, drift, kustomize build."),
    "completion": ("completion", "Print a completion script for a shell."),
    "diff": ("diff", "Show what a change means: runs, GPUs, models, exposure, data."),
    "explain": ("explain", "Explain a finding by its code, a field by its path, or what a run is named after."),
    "generate": ("generate", "Write generated/ for every environment."),
    "graph": ("graph", "Show steps, services and what they read and write."),
    "init": ("init", "Write a project and environments to begin with."),
    "promote": ("promote", "Pin the run whose model a service serves in an environment."),
    "render": ("render", "Print the objects of an environment, or the Pods and Services that operators make of them."),
    "run": ("run", "Run steps on this computer, as the cluster would: preprocess, train, evaluate, judge."),
    "schema": ("schema", "Print the JSON Schema of a project or an environment."),
}


class LazyGroup(click.Group):
    """Imports a command when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in _COMMANDS:
            return None
        command = importlib.import_module(f"mlspec.commands.{_COMMANDS[cmd_name][0]}").command
        assert isinstance(command, click.Command)  # noqa: S101  # every module of commands has one
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in sorted(_COMMANDS.items())])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 fine; 1 findings, drift or a diff; 2 usage, unreadable path, missing tool; 130 interrupt.",
)
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    envvar="MLSPEC_ROOT",
    help="Folder with environments/, where the nearest one upwards is not meant.",
)
@click.version_option(__version__, prog_name="mlspec", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, root: Path | None) -> None:
    """Compile mlproject.yaml to kustomize overlays that Argo CD can sync."""
    ctx.obj = root


def run() -> int:
    """Run the command line; returns the exit code."""
    try:
        result = cli.main(prog_name="mlspec", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("interrupted\n")
        return 130
    except Exception as error:  # noqa: BLE001  # the one place: a fault of ours, never shown as a traceback
        from mlspec.literals.redaction import redact  # late: this should never happen

        sys.stderr.write(redact(f"internal error: {type(error).__name__}: {error}\n"))
        sys.stderr.write("this is a fault of mlspec; set MLSPEC_DEBUG=1 to see where, and report it\n")
        if os.environ.get("MLSPEC_DEBUG"):
            sys.stderr.write(redact(traceback.format_exc()))
        return 2
    return result if isinstance(result, int) else 0
