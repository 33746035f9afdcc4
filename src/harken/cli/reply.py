"""`harken reply`: replies of a run for a whole split, as a reply file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def reply(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    split: Annotated[str, typer.Option(help="train, valid or test.")] = "test",
    out: Annotated[Path | None, typer.Option(help="The reply file; RUN/replies-SPLIT.jsonl by default.")] = None,
    beam: Annotated[int, typer.Option(help="Hypotheses of the beam; 1 is greedy.")] = 1,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="key=value for decoding, e.g. no_repeat=3 or sample=true; repeatable."),
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="Another corpus than the run was trained on.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many responses.")] = None,
    oracle: Annotated[
        bool, typer.Option("--oracle", help="Let the model see gold emotions (published protocol).")
    ] = False,
) -> None:
    """Write the replies of a run for a split; interrupted, it goes on where it stopped."""
    from harken import config as configs
    from harken.cli.progress import counted
    from harken.decoding.replies import write_replies
    from harken.decoding.search import DecodingConfig
    from harken.training.run import load_run

    decoding = configs.build(DecodingConfig, configs.with_overrides({"beam": beam}, changes or ()), "harken reply")
    target = out or run / f"replies-{split}.jsonl"
    with counted("Replying") as started:
        count = write_replies(
            load_run(run), split, target, decoding, corpus=corpus, limit=limit, oracle=oracle, started=started
        )
    typer.echo(f"{count:,} replies in {target}")
