"""`harken data`: the corpora in the data home."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from harken.corpora.stats import Stats
    from harken.corpora.store import Manifest
    from harken.dialogue import Dialogue

app = typer.Typer(help="Add, look at and export corpora.", no_args_is_help=True, rich_markup_mode=None)


class Format(StrEnum):
    """How dialogues are written."""

    JSONL = "jsonl"
    CSV = "csv"


class By(StrEnum):
    """How words are ranked."""

    USE = "use"
    CONTRAST = "contrast"


Name = Annotated[str, typer.Argument(help="A stored corpus, or 'starter'.", show_default=False)]
Split = Annotated[str | None, typer.Option(help="Only this split: train, valid or test.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_corpora(as_json: Json = False) -> None:
    """Every corpus harken can read, and those that are stored."""
    from dataclasses import asdict

    from rich.table import Table

    from harken.corpora import library

    rows = library.listing()
    if as_json:
        return _print_json([asdict(row) for row in rows])
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("corpus", no_wrap=True)
    table.add_column("what it is")
    table.add_column("licence")
    table.add_column("dialogues here", justify="right")
    for row in rows:
        here = f"{sum(row.dialogues.values()):,}" if row.dialogues else "damaged" if row.problem else "–"
        table.add_row(row.name, row.title, row.licence, here)
    return _console().print(table)


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="A corpus of `harken data list`, or 'own'.", show_default=False)],
    path: Annotated[
        Path | None,
        typer.Option("--from", help="Its archive, folder or file; without it, it is downloaded if it can be."),
    ] = None,
    as_name: Annotated[str | None, typer.Option("--as", help="Store it under this name.")] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns of your own CSV file: text=utterance,role=who,dialogue=conv_id.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Read a corpus and store it in the data home."""
    from dataclasses import asdict

    from harken.cli.progress import stages
    from harken.corpora import library
    from harken.corpora.own_csv import parse_columns

    with stages() as progress:
        added = library.add(
            name, path, as_name=as_name, columns=parse_columns(columns) if columns else None, progress=progress
        )
    for line in added.skips.lines():
        print(line, file=sys.stderr)
    if as_json:
        _print_json(asdict(added.manifest))
    else:
        stored = added.manifest
        print(f"Stored {stored.name}: {_counts(stored.dialogues)} dialogues. Licence: {stored.licence}.")


@app.command()
def show(
    name: Name,
    dialogue_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A dialogue's id.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """A corpus and its first dialogue, or the dialogue ID."""
    from dataclasses import asdict

    from harken.corpora import library

    if dialogue_id is not None:
        dialogue = library.find(name, dialogue_id)
        _print_json(dialogue.to_json()) if as_json else _print_dialogue(dialogue)
        return
    manifest = library.manifest(name)
    if as_json:
        _print_json(asdict(manifest))
    else:
        _print_manifest(manifest)
        print()
        _print_dialogue(next(library.iterate(name)))


@app.command()
def stats(
    name: Name,
    split: Split = None,
    top: Annotated[int, typer.Option(min=0, help="Words per emotion and side.")] = 3,
    by: Annotated[By, typer.Option(help="Rank words by use, or by contrast with the other emotions.")] = By.USE,
    plot: Annotated[Path | None, typer.Option(help="Draw emotions and words into a .png, .svg or .pdf file.")] = None,
    as_json: Json = False,
) -> None:
    """Counts per split, the emotions, and the words of each emotion."""
    from harken.cli.progress import waiting
    from harken.corpora import library
    from harken.corpora.stats import corpus_stats
    from harken.corpora.stats_plot import plot_stats

    with waiting("Counting"):
        result = corpus_stats(library.iterate(name, split), top=top, by=by.value)
        if plot is not None:
            plot_stats(result, plot, f"{name} ({split})" if split else name)
    if as_json:
        _print_json(result.to_json())
    else:
        _print_stats(result)


@app.command()
def export(
    name: Name,
    to: Annotated[Path | None, typer.Option(help="The file to write; without it, standard output.")] = None,
    split: Split = None,
    form: Annotated[Format, typer.Option("--format", help="JSON lines, or CSV with one row per turn.")] = Format.JSONL,
) -> None:
    """Write a corpus in a form that `harken data add own` reads back."""
    from harken.corpora import library
    from harken.files import atomic

    if to is None:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        library.export(name, sys.stdout, split, form.value)
        return
    with atomic(to) as stream:
        count = library.export(name, stream, split, form.value)
    print(f"{to}: {count:,} dialogues", file=sys.stderr)


def _console() -> Console:
    """Standard output; as wide as it needs to be where it is no terminal."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 160)


def _counts(per_split: dict[str, int]) -> str:
    return ", ".join(f"{split} {count:,}" for split, count in per_split.items())


def _print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _print_manifest(manifest: Manifest) -> None:
    rows = {
        "corpus": manifest.name,
        "what it is": manifest.title,
        "by": manifest.citation,
        "licence": manifest.licence,
        "from": f"{manifest.origin}, {manifest.added[:10]}",
        "dialogues": _counts(manifest.dialogues),
        "turns": _counts(manifest.turns),
        "listener turns": _counts(manifest.listener_turns),
        "left out": ", ".join(f"{count:,} × {reason}" for reason, count in manifest.skipped.items()),
        "kept": ", ".join(f"{count:,} × {reason}" for reason, count in manifest.kept.items()),
        "sha256": manifest.sha256,
    }
    for key, value in rows.items():
        if value:
            print(f"{key:15}{value}")


def _print_dialogue(dialogue: Dialogue) -> None:
    print(f"{dialogue.id} ({', '.join(filter(None, (dialogue.split, dialogue.emotion)))})")
    if dialogue.situation:
        print(f"  situation  {dialogue.situation}")
    for sentence in dialogue.persona:
        print(f"  persona    {sentence}")
    for turn in dialogue.turns:
        print(f"  {turn.role:10} {turn.text}" + (f"  [{turn.label}]" if turn.label else ""))


def _print_stats(result: Stats) -> None:
    from rich.table import Table

    splits = Table(box=None, pad_edge=False, header_style="bold")
    splits.add_column("split")
    for column in ("dialogues", "turns", "listener turns", "tokens per turn"):
        splits.add_column(column, justify="right")
    for name, s in result.splits.items():
        splits.add_row(name, f"{s.dialogues:,}", f"{s.turns:,}", f"{s.listener_turns:,}", f"{s.tokens_per_turn:.2f}")
    _console().print(splits)
    if result.emotions:
        emotions = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("emotion", "speakers say", "listeners say"):
            emotions.add_column(column)
        emotions.add_column("share", justify="right")
        for name, emotion in result.emotions.items():
            words = (", ".join(emotion.speaker), ", ".join(emotion.listener))
            emotions.add_row(name, *words, f"{emotion.share:.1%}")
        print()
        _console().print(emotions)
