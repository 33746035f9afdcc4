"""`harken curate`: from subtitles to emotional dialogues."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from harken.curation.stats import CurationStats

app = typer.Typer(help="Subtitles to dialogues to emotional dialogues.", no_args_is_help=True, rich_markup_mode=None)


class EngineName(StrEnum):
    """Where shards are worked on."""

    LOCAL = "local"
    RAY = "ray"


class ProtocolName(StrEnum):
    """What the segmenter learns from: sentences as subtitles have them, or whole utterances."""

    SENTENCES = "sentences"
    UTTERANCES = "utterances"


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def run(
    inputs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="INPUT", help="Subtitle files, folders of them, OPUS archives.", show_default=False),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(help="The folder to write into; a run that was stopped there goes on.")],
    classifier: Annotated[
        Path | None, typer.Option(help="A run of the task 'intent'. Default: the built-in one.", show_default=False)
    ] = None,
    prefilter: Annotated[
        Path | None,
        typer.Option(
            help="A faster run of 'intent' (kind fasttext); only the share it likes best goes to the classifier.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Dialogues in EDOS. Default: a quarter of all.", show_default=False)
    ] = None,
    shard_size: Annotated[int, typer.Option(help="Subtitle files in a shard.")] = 64,
    segmenter: Annotated[
        Path | None, typer.Option(help="A model of train-segmenter. Default: harken's own.", show_default=False)
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(help="Dialogues of a stored corpus as well; repeatable.", show_default=False),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="key=value: gap=4, split_by=dialogue, prefilter_share=0.3, cleaning.…; repeatable."),
    ] = None,
    engine: Annotated[EngineName, typer.Option(help="Processes of this machine, or Ray.")] = EngineName.LOCAL,
    address: Annotated[
        str | None, typer.Option(help="A Ray cluster. Default: one of this machine.", show_default=False)
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Shards worked on at once. Default: one a core.", show_default=False)
    ] = None,
    as_name: Annotated[
        str | None,
        typer.Option("--as", help="Also store the corpora NAME-edos and NAME-os in the data home.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Read, segment, clean, label and select; Ctrl-C stops without losing finished shards."""
    from rich.console import Console

    from harken.cli.progress import stages
    from harken.config import build, with_overrides
    from harken.corpora.library import checked_name
    from harken.curation.config import CurationConfig
    from harken.curation.engines import engine_named
    from harken.curation.pipeline import curate, keep_as_corpora

    values = {
        "classifier": classifier and str(classifier),
        "prefilter": prefilter and str(prefilter),
        "segmenter": segmenter and str(segmenter),
        "top": top,
        "shard_size": shard_size,
    }
    config = build(CurationConfig, with_overrides(values, changes or ()), "harken curate")
    if as_name is not None:
        checked_name(as_name)
    workers_there = engine_named(engine.value, workers=workers, address=address)
    try:
        with stages() as progress:
            manifest = curate(
                inputs or (),
                out,
                config,
                workers_there,
                corpora=corpus or (),
                progress=progress,
                console=Console(stderr=True),
            )
    except KeyboardInterrupt:
        print("Stopped; finished shards stay, and the same command goes on.", file=sys.stderr)
        raise
    if as_json:
        print(json.dumps(manifest, ensure_ascii=False, indent=2))
    else:
        _print_manifest(out, manifest)
    for name, size in (keep_as_corpora(out, as_name) if as_name is not None else {}).items():
        print(f"Stored {name}: {size:,} dialogues", file=sys.stderr if as_json else sys.stdout)


@app.command()
def stats(
    of: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder of `curate run`, or a corpus's name.")],
    plot: Annotated[Path | None, typer.Option(help="Draw Figure 2 into a .png, .svg or .pdf file.")] = None,
    as_json: Json = False,
) -> None:
    """Dialogs, turns, tokens (Tables 1 and 2 of MEED2), and the labels of the last utterances (its Figure 2)."""
    from harken.curation.stats import corpus_stats, folder_stats
    from harken.curation.stats_plot import plot_last

    found = folder_stats(Path(of)) if Path(of).is_dir() else corpus_stats(of)
    if plot is not None:
        plot_last(found, plot, Path(of).name)
    if as_json:
        print(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
    else:
        _print_stats(found)


@app.command("train-segmenter")
def train_segmenter(
    corpus: Annotated[str, typer.Argument(help="A corpus that knows its speakers, such as meld.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The model file to write (.json).")],
    protocol: Annotated[ProtocolName, typer.Option(help="What counts as a line.")] = ProtocolName.SENTENCES,
    as_json: Json = False,
) -> None:
    """Learn which lines one speaker says, and measure it on the corpus's test split."""
    from harken.cli.progress import waiting
    from harken.curation.segmentation_training import train_from_corpus

    with waiting("Learning"):
        _, measured = train_from_corpus(corpus, out, protocol.value)
    if as_json:
        print(json.dumps([one.to_json() for one in measured], ensure_ascii=False, indent=2))
        return
    for one in measured:
        print(
            f"{one.protocol}: accuracy {one.accuracy:.2%} [{one.low:.2%}, {one.high:.2%}] on {one.pairs:,} pairs, "
            f"majority {one.majority:.2%}, above it by {100 * (one.accuracy - one.majority):.1f} points "
            f"[{100 * one.margin_low:.1f}, {100 * one.margin_high:.1f}]"
        )
        for name, part in (("same speaker", one.same), ("change", one.change)):
            print(f"  {name:13} precision {part.precision:.2%}, recall {part.recall:.2%}, F1 {part.f1:.2%}")


def _print_manifest(out: Path, manifest: dict[str, Any]) -> None:
    read, labelled, selected = manifest["dialogues"], manifest["labelled"], manifest["selected"]
    removed = ", ".join(f"{name} {count:,}" for name, count in read["removed"].items() if count)
    print(f"{read['files']:,} files, {read.get('lines', 0):,} lines, {read.get('turns', 0):,} turns")
    print(f"{read['found']:,} dialogues, {read['dialogues']:,} after cleaning")
    if removed:
        print(f"turns removed: {removed}")
    if "recall" in labelled:
        print(
            f"pre-filter: {labelled['passed']:,} dialogues passed; recall of the selected "
            f"{labelled['recall']:.1%} (sample of {labelled['recall_sample']:,})"
        )
    print(f"{out}: EDOS {selected['edos']['dialogues']:,}, OS {selected['os']['dialogues']:,} dialogues")
    for one in manifest["unreadable"][:5]:
        print(f"unreadable: {one['id']} ({one['reason']})", file=sys.stderr)
    more = len(manifest["unreadable"]) - 5
    if more > 0:
        print(f"unreadable: {more:,} more, named in {out / 'manifest.json'}", file=sys.stderr)


def _print_stats(found: CurationStats) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for name in found.tables:
        table.add_column(name, justify="right")
    columns = [size.rows() for size in found.tables.values()]
    for row in columns[0]:
        table.add_row(row, *(f"{column[row]:,}" for column in columns))
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table)
    if found.last:
        labels = Table(box=None, pad_edge=False, header_style="bold")
        labels.add_column("last utterance")
        labels.add_column("share", justify="right")
        for name, share in found.shares().items():
            labels.add_row(name, f"{share:.1%}")
        print()
        console.print(labels)
