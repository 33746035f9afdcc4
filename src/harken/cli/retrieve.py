"""`harken retrieve`: the candidates of an index that fit a context; exemplars for a whole split; two indexes compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harken.exemplar_files import Filter
    from harken.retrieval.exemplars import Finder


def retrieve(
    index: Annotated[Path, typer.Argument(help="An index folder.")],
    query: Annotated[
        str | None,
        typer.Argument(help="What was said, or a JSON list of turns; - reads one a line.", show_default=False),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many candidates.")] = 5,
    emotions: Annotated[
        str | None,
        typer.Option(
            "--filter", help="none, predicted or gold (a leak). Default: predicted for files.", show_default=False
        ),
    ] = None,
    classifier: Annotated[
        Path | None,
        typer.Option(
            help="A run that predicts emotions; else the ranker itself, or the vote of the nearest.", show_default=False
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Exemplars for every response of this split.", show_default=False)
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(help="The corpus of --split; the index's by default.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The exemplar file of --split.", show_default=False)] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many responses of --split.")] = None,
    against: Annotated[
        Path | None, typer.Option(help="A second index: its exemplars beside the first's.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find candidates for a query, or write the exemplars of a split."""
    from harken.classifiers.run import load_classifier
    from harken.errors import HarkenError, did_you_mean
    from harken.exemplar_files import FILTERS
    from harken.retrieval.exemplars import Finder
    from harken.retrieval.index import Index

    chosen = next((name for name in FILTERS if name == (emotions or ("none" if split is None else "predicted"))), None)
    if chosen is None:
        raise HarkenError(
            f"unknown filter '{emotions}'{did_you_mean(emotions or '', FILTERS)}; use {', '.join(FILTERS)}"
        )
    if (query is None) == (split is None):
        raise HarkenError("give either a query (or - for one a line) or --split")
    reader = None if classifier is None else load_classifier(classifier)
    finders = [Finder(Index.open(folder), reader) for folder in (index, against) if folder is not None]
    if query is not None:
        _queries(finders, query, k, chosen, as_json)
    elif against is not None:
        _compared(finders, _corpus(finders[0], corpus), split or "", chosen, limit or 10, as_json)
    else:
        _written(finders[0], _corpus(finders[0], corpus), split or "", chosen, k, limit, out)


def _corpus(finder: Finder, named: str | None) -> str:
    return named or list(finder.index.manifest.corpora)[-1]


def _queries(finders: list[Finder], query: str, k: int, emotions: Filter, as_json: bool) -> None:
    """Print the candidates of each query, of each index."""
    import json
    from dataclasses import asdict

    for turns in _conversations(query):
        for finder in finders:
            found = finder.live(turns, k, emotions=emotions)
            if as_json:
                record = {"query": turns, "index": str(finder.index.folder), "emotion": found.emotion}
                typer.echo(json.dumps(record | {"found": [asdict(one) for one in found.exemplars]}, ensure_ascii=False))
                continue
            if query == "-" or len(finders) > 1:
                typer.echo(f"# {turns[-1]}  ({finder.index.folder})")
            for one in found.exemplars:
                typer.echo(f"{one.score:.3f}  {one.text}")


def _conversations(query: str) -> Iterator[list[str]]:
    """The turns of each query."""
    import json
    import sys

    from harken.errors import HarkenError

    for number, line in enumerate(sys.stdin if query == "-" else [query], start=1):
        text = line.strip()
        turns = [text]
        if text.startswith("["):
            try:
                turns = [str(turn) for turn in json.loads(text)]
            except (ValueError, TypeError):
                turns = [text]  # words in brackets
        turns = [turn for turn in turns if turn.strip()]
        if turns:
            yield turns
        elif query != "-":
            raise HarkenError(f"query {number} is empty; say what was said")


def _written(
    finder: Finder, corpus: str, split: str, emotions: Filter, q: int, limit: int | None, out: Path | None
) -> None:
    """Write an exemplar file."""
    from harken.cli.progress import counted
    from harken.retrieval.exemplars import write_exemplars

    target = out or finder.index.folder / f"exemplars-{corpus}-{split}-{emotions}.jsonl"
    with counted("Retrieving") as started:
        header = write_exemplars(
            finder, target, corpus=corpus, split=split, q=q, emotions=emotions, limit=limit, started=started
        )
    typer.echo(f"{q} exemplars a response in {target}, {header.note}")


def _compared(finders: list[Finder], corpus: str, split: str, emotions: Filter, limit: int, as_json: bool) -> None:
    """Print LEMPEx's Table 3: the first exemplar of each index for the first contexts of a split."""
    import json
    from dataclasses import asdict

    from harken.exemplar_files import NOTES
    from harken.retrieval.compare import compare
    from harken.retrieval.pairs import read_pairs

    pairs = read_pairs([corpus], split, finders[0].index.ranker.config.history)[:limit]
    rows, columns = compare(finders, pairs, emotions)
    if as_json:
        typer.echo(json.dumps({"rows": [asdict(r) for r in rows], "columns": [asdict(c) for c in columns]}))
        return
    for row in rows:
        typer.echo(f"\n{row.context[-1]}\n  reference: {row.reference}")
        for column, text in zip(columns, row.exemplars, strict=True):
            typer.echo(f"  {column.name}: {text}")
    typer.echo("")
    for column in columns:
        typer.echo(f"{column.name}: {column.words:.1f} words an exemplar, {column.distinct:.0f} % used once")
    typer.echo(NOTES[emotions])
