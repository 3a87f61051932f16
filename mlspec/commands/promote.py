"""`mlspec promote`: pin the run whose model a service serves in an environment."""

from __future__ import annotations

import re
from pathlib import Path

import click

from mlspec import names
from mlspec.commands import session
from mlspec.commands.promoting import RefusedError, Request, promote
from mlspec.diagnostics import suggestion
from mlspec.files.hold import locked
from mlspec.spec.discover import COMMON, ENVIRONMENT_FOLDER

_RUN = re.compile(rf"(?:(?P<step>{names.NAME})-)?(?P<digest>[0-9a-f]{{{names.HASH_LENGTH}}})")


@click.command("promote")
@click.argument("service", metavar="SERVICE")
@click.option("--to", "environment", required=True, metavar="ENV", help="Environment whose service is pinned.")
@click.option(
    "--run", metavar="RUN", help="Run to serve: `train-0123abcd`, or its hash alone. Default: the current one."
)
@session.root_option
def command(service: str, environment: str, run: str | None, own_root: Path | None) -> int:
    """Pin the run whose model SERVICE serves in an environment.

    Writes `environments.ENV.services.SERVICE.model.run` into mlproject.yaml, which must have no uncommitted changes;
    nothing else of the file is touched. `mlspec generate` and a commit of both deploy it. Where several projects have
    such a service, SERVICE is `project/service`.
    """
    root, _ = session.find(own_root, ())
    _check_environment(root, environment)
    project, _, name = service.rpartition("/")
    step, digest = _parse(run) if run is not None else (None, None)
    request = Request(name, project or None, environment, step, digest)
    with locked(root, exclusive=True, waiting=session.waiting):
        try:
            done = promote(root, request)
        except RefusedError as refused:
            code = session.show(refused.diagnostics, refused.texts, err=True)
            click.echo("nothing was written", err=True)
            return code
    click.echo(done, err=True)
    return 0


def _check_environment(root: Path, name: str) -> None:
    known = {path.stem for path in (root / ENVIRONMENT_FOLDER).glob("*.yaml")} - {COMMON}
    if name not in known:
        help = suggestion(name, known, "there are")
        message = f"there is no {ENVIRONMENT_FOLDER}/{name}.yaml" + (f"; {help}" if help else "")
        raise click.BadParameter(message, param_hint="--to")


def _parse(run: str) -> tuple[str | None, str]:
    found = _RUN.fullmatch(run)
    if found is None:
        message = f"`{run}` is not the name of a run; write such as `train-0123abcd`, or `0123abcd`"
        raise click.BadParameter(message, param_hint="--run")
    return found["step"], found["digest"]
