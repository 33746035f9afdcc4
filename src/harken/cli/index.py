"""`harken index`: a pool of candidates, encoded and ready to be searched."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def index(
    run: Annotated[str, typer.Argument(help="A ranker's run, a Hugging Face folder, or minilm (untouched).")],
    corpus: Annotated[list[str], typer.Option("--corpus", help="A corpus whose turns to choose from; repeatable.")],
    out: Annotated[
        Path | None, typer.Option(help="The index folder; RUN/index by default.", show_default=False)
    ] = None,
    split: Annotated[str, typer.Option(help="Which part of the corpora.")] = "train",
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Look into the nearest cells only: for very large pools.")
    ] = False,
    both_sides: Annotated[
        bool, typer.Option("--both-sides", help="The speakers' turns too, as the benchmark's pool has them.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Encode the turns of some corpora with a ranker; each text is kept once, empty ones are left out."""
    import json
    from dataclasses import asdict

    from harken.cli.progress import counted
    from harken.errors import HarkenError
    from harken.retrieval.index import MINILM, build_index, open_ranker
    from harken.retrieval.pool import read_pool

    if out is None and run == MINILM:
        raise HarkenError("minilm has no run folder to put an index into; name one with --out")
    place = out or Path(run) / "index"
    with counted("Encoding") as started:
        made = build_index(
            open_ranker(run),
            run,
            read_pool(corpus, split=split, both_sides=both_sides),
            place,
            corpora=corpus,
            split=split,
            kind="approximate" if approximate else "exact",
            started=started,
        ).manifest
    if as_json:
        typer.echo(json.dumps(asdict(made) | {"hash": made.hash}))
        return
    left = f"{made.duplicates:,} duplicates and {made.empty:,} empty turns left out"
    cells = f", {made.looked_into} of {made.cells} cells (recall@10 {made.recall:.3f})" if approximate else ""
    typer.echo(f"{made.count:,} candidates in {place} ({made.kind}{cells}; {left})")
