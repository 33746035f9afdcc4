"""`harken compare`: any number of reply files and runs in one table, and an HTML report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from harken.cli.scoring_options import (
    AllowEmpty,
    AsJson,
    Empathy,
    Encoder,
    Metrics,
    References,
    Seed,
    Tokenize,
    VocabularySize,
    WordNet,
)


def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|RUN...", help="Reply files and run folders, or NAME=PATH; one name for several seeds."
        ),
    ],
    metrics: Metrics = None,
    tokenize: Tokenize = "given",
    references: References = None,
    baseline: Annotated[
        str | None, typer.Option(help="The system to test against. Default: the first.", show_default=False)
    ] = None,
    group: Annotated[
        bool, typer.Option("--group", help="Join names that differ only in a seed (moel-seed1, moel-seed2).")
    ] = False,
    bootstrap: Annotated[int, typer.Option(help="Samples behind each interval and test; 0 for none.")] = 1000,
    seed: Seed = 13,
    test: Annotated[str, typer.Option(help="The paired test: bootstrap or randomisation.")] = "bootstrap",
    by: Annotated[
        str | None,
        typer.Option(help="Also the figures by emotion, polarity, turn or a field of the files.", show_default=False),
    ] = None,
    split: Annotated[str, typer.Option(help="Which replies and figures of a run.")] = "test",
    html: Annotated[
        Path | None, typer.Option(help="Write a report that opens in any browser, offline.", show_default=False)
    ] = None,
    vocabulary: VocabularySize = 30_522,
    encoder: Encoder = None,
    wordnet: WordNet = None,
    empathy: Empathy = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave bad lines out, and examples that not every file has.")
    ] = False,
    allow_empty: AllowEmpty = False,
    as_json: AsJson = False,
) -> None:
    """Compare reply files and runs: figures, intervals, paired tests, published figures, an HTML report."""
    from harken.cli.compare_table import show
    from harken.cli.progress import stages
    from harken.scoring.compare import compare as compare_sources
    from harken.scoring.compare_files import Options, paired_test
    from harken.scoring.compare_sources import find_sources
    from harken.scoring.material import Settings
    from harken.scoring.report import write_report
    from harken.scoring.uncertainty import Resamples

    options = Options(
        metrics=None if metrics is None else [name.strip() for name in metrics.split(",") if name.strip()],
        settings=Settings(
            tokenize=tokenize, vocabulary=vocabulary, encoder=encoder, wordnet=wordnet, empathy=tuple(empathy or ())
        ),
        resamples=Resamples(samples=bootstrap, seed=seed),
        test=paired_test(test),
        references=references,
        by=by,
        baseline=baseline,
        split=split,
        skip_bad=skip_bad,
        allow_empty=allow_empty,
    )
    sources = find_sources(files, split=split, group=group)
    with stages() as heard:
        if html is None:
            comparison = compare_sources(sources, options, heard=heard)
        else:
            comparison = write_report(html, sources, options, heard=heard)
    if html is not None:
        print(f"report in {html}", file=sys.stderr)
    if as_json:
        print(json.dumps(comparison.to_json(), ensure_ascii=False, indent=2))
    else:
        show(comparison)
