"""`mlspec schema`: the JSON Schema of what users write."""

from __future__ import annotations

import json

import click

from mlspec.spec.json_schema import environment_schema, project_schema


@click.command("schema")
@click.argument("what", type=click.Choice(["project", "environment"]), default="project")
def command(what: str) -> int:
    """Print the JSON Schema of a project (default) or an environment, for editors."""
    schema = project_schema() if what == "project" else environment_schema()
    click.echo(json.dumps(schema, indent=2))
    return 0
