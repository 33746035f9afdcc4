"""The command line: one file per command; each parses, makes one library call, and prints.

Results go to standard output, progress and complaints to standard error. Modules here import only what parsing needs:
the library behind a command loads when the command runs, so `harken --help` is quick.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import harken
from harken.cli import chat, compare, curate, data, index, label, reply, retrieve, score, train
from harken.errors import HarkenError

app = typer.Typer(
    name="harken",
    help="Train, compare, judge and serve empathetic listeners.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("chat")(chat.chat)
app.command("label")(label.label)
app.command("train")(train.train)
app.command("reply")(reply.reply)
app.command("index")(index.index)
app.command("retrieve")(retrieve.retrieve)
app.command("score")(score.score)
app.command("compare")(compare.compare)
app.add_typer(data.app, name="data")
app.add_typer(curate.app, name="curate")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"harken {harken.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; a mistake the user can repair ends in one sentence and exit code 2.

    typer itself answers mistyped commands and options (2), Ctrl-C (130) and a reader that leaves, as `head` does.
    """
    try:
        app()
    except HarkenError as problem:
        print(f"harken: {problem}", file=sys.stderr)
        sys.exit(2)
