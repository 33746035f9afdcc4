"""`harken chat`: talk to a listener."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def chat(
    run_folder: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="A trained run; the built-in listener by default.")
    ] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option("--pool", help="A stored corpus whose training turns join the built-in listener's; repeatable."),
    ] = None,
    intent: Annotated[
        str | None,
        typer.Option(
            help="What the replies shall be, e.g. encouraging, for a run that can be asked; /intent changes it."
        ),
    ] = None,
    country: Annotated[
        str | None, typer.Option(help="Two-letter country, for the numbers given when someone is in danger.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a reply.")] = False,
) -> None:
    """Talk to a listener; reads a pipe too, one turn a line."""
    import sys

    from harken.cli.progress import counted
    from harken.listeners import load_listener, steered
    from harken.serving.care import Care, Careful
    from harken.serving.chat import Chat, run

    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    with counted("Learning to notice danger (once)") as started:
        care = Care(country, started=started)
    with counted("Reading the listener's corpus (once)") as started:
        listener = load_listener(run_folder, pool=pool or (), started=started)
    run(Chat(Careful(steered(listener, intent), care)), as_json=as_json)
