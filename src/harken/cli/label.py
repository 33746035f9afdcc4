"""`harken label`: emotions, intents, empathy, sentiment or topics of any utterances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def label(
    file: Annotated[
        str,
        typer.Argument(
            help="Text lines, a reply file or dialogues as JSON lines; - is standard input.", show_default=False
        ),
    ],
    family: Annotated[
        str, typer.Option("--with", help="emotion, intent, empathy, sentiment or topic.", show_default=False)
    ],
    run: Annotated[
        list[Path] | None,
        typer.Option(
            help="A trained classifier, or a folder of them; repeatable. Default: the built-in one.", show_default=False
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(help="What of a line to read: context, reply, response, turn or situation.", show_default=False),
    ] = None,
    top: Annotated[int, typer.Option(help="Labels kept for each text.", min=1)] = 5,
    out: Annotated[Path | None, typer.Option(help="Write a label file there.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a label file.")] = False,
) -> None:
    """Label utterances; with --out an interrupted job goes on where it stopped."""
    import json

    from rich.console import Console

    from harken.classifiers.labelling import classifiers_of, default_of, header_of, labelled
    from harken.classifiers.sources import read_texts
    from harken.cli.progress import counted
    from harken.label_files import write_labels_in_parts

    source = None if file == "-" else Path(file)
    classifiers = classifiers_of(family, run or (), Console(stderr=True))
    of = of or default_of(classifiers)
    texts = read_texts(source, of=of, pairs=classifiers[0].pairs)
    header = header_of(classifiers, texts, of=of, top=top)
    with counted("Labelling") as started:
        if out is not None:
            ids = [text.id for text in texts]
            count = write_labels_in_parts(
                out,
                header,
                ids,
                lambda rows: labelled(classifiers, [texts[i] for i in rows], top=top, advance=started(len(rows))),
            )
            typer.echo(f"{count:,} texts labelled in {out}")
            return
        if as_json:
            typer.echo(json.dumps(header.to_json(), ensure_ascii=False))
        for one in labelled(classifiers, texts, top=top, advance=started(len(texts))):
            best = "  ".join(
                f"{name} {chance:.0%}" for found in one.labels.values() for name, chance in list(found.items())[:1]
            )
            typer.echo(json.dumps(one.to_json(), ensure_ascii=False) if as_json else f"{best}\t{one.text}")
