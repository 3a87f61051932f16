"""`mlspec explain CODE|FIELD`: what a finding or a field means; `mlspec explain run`: what a run is named after."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Final

import click

from mlspec.codes import CODES
from mlspec.codes.policy import POLICY
from mlspec.codes.webhooks import WEBHOOKS

_RUN = "run"
_GROUPS: Final = {
    "1": "Source and shape",
    "2": "Meaning",
    "3": "Kubernetes schemas and API rules",
    "4": "Policy (`policy` in an environment weighs them, `allow` in a project accepts them)",
    "5": "Drift and files",
}


@click.command("explain")
@click.argument("words", metavar="CODE|FIELD|run STEP", nargs=-1)
@click.option("--reference", is_flag=True, help="Print every field as one Markdown page.")
@click.option("-e", "--env", "environment", metavar="ENV", help="With run: the environment.")
@click.option("--against", metavar="REF", help="With run: say what has changed since a revision, and the name then.")
@click.option("--project", metavar="NAME", help="With run: the project, where several have the step.")
@click.option(
    "--root", "own_root", type=click.Path(path_type=Path), help="With run: folder with environments/, as elsewhere."
)
def command(
    words: tuple[str, ...],
    reference: bool,
    environment: str | None,
    against: str | None,
    project: str | None,
    own_root: Path | None,
) -> int:
    """Explain a finding by its CODE, for example MLS214, or a FIELD by its path, for example steps.train.nodes.

    Without anything: list the codes.

    Names of your own may stand in a path, or `*`, or nothing: steps.*.nodes, steps.nodes and nodes are the same.
    Fields of environments/ may begin with `environment.`: environment.gpus.t4.perNode.

    `explain run STEP -e ENV` shows what the name of the step's run is made of; several projects may have the step:
    then PROJECT/STEP, or --project.
    """
    if words[:1] == (_RUN,) and (len(words) > 1 or environment is not None):
        return _explain_run(words[1:], environment, against, project, own_root, reference=reference)
    if any(option is not None for option in (environment, against, project, own_root)):
        raise click.UsageError("these options are for `explain run STEP -e ENV`")
    if len(words) > 1:
        raise click.UsageError(f"one thing is explained at a time; got {len(words)}")
    if reference and words:
        raise click.UsageError("--reference explains every field; name none")
    if not reference and not words:
        _list_codes()
        return 0
    if words and words[0].upper() in CODES:
        _explain_code(words[0].upper())
        return 0
    # Late: a code is explained without the models.
    from mlspec.commands.explaining import explain_field, page

    click.echo(explain_field(words[0]) if words else page(), nl=False)
    return 0


def _list_codes() -> None:
    """Print every code with its weight and title, a group a hundred."""
    for group, title in _GROUPS.items():
        click.echo(f"{title}:")
        for code in sorted(code for code in CODES if code[3] == group):
            click.echo(f"  {code}  {CODES[code].severity:<7}  {CODES[code].title}")
        click.echo()
    click.echo("`mlspec explain CODE` says what one means, `mlspec explain FIELD` what a field of the spec does.")


def _explain_code(code: str) -> None:
    found = CODES[code]
    click.echo(f"{code} ({found.severity}): {found.title}\n")
    explanation = found.explanation
    if code in POLICY:
        from mlspec.policy.rules import explanation as of_rule  # late, as above

        explanation = of_rule(code)
    if code in WEBHOOKS:
        from mlspec.validation.webhooks import explanation as of_webhook  # late, as above

        explanation = of_webhook(code)
    paragraphs = explanation.split("\n\n")
    filled = (textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False) for text in paragraphs)
    click.echo("\n\n".join(filled))


def _explain_run(
    words: tuple[str, ...],
    environment: str | None,
    against: str | None,
    project: str | None,
    own_root: Path | None,
    *,
    reference: bool,
) -> int:
    if len(words) != 1 or environment is None or reference:
        raise click.UsageError("write `mlspec explain run STEP -e ENV`")
    own, slash, step = words[0].rpartition("/")
    if slash and project is not None and project != own:
        raise click.UsageError(f"`{words[0]}` is a step of {own}, but --project says {project}")
    from mlspec.commands.explaining_run import Question, explain_run  # late, as above

    return explain_run(own_root, Question(step, environment, project or own or None), against)
