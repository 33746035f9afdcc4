"""Options that `harken score` and `harken compare` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Metrics = Annotated[
    str | None,
    typer.Option(help="Names separated by commas, 'empathy' or 'all'. Default: all quick ones.", show_default=False),
]
Tokenize = Annotated[str, typer.Option(help="How texts are cut: given, moel or 13a.")]
References = Annotated[Path | None, typer.Option(help="The gold responses, one a line.", show_default=False)]
Seed = Annotated[int, typer.Option(help="Seed of the samples.")]
VocabularySize = Annotated[int, typer.Option(help="Vocabulary size of ead-1 and ead-2.")]
Encoder = Annotated[
    Path | None, typer.Option(help="Sentence encoder of similarity. Default: MiniLM.", show_default=False)
]
WordNet = Annotated[Path | None, typer.Option(help="WordNet dictionary folder of meteor-nltk.", show_default=False)]
Empathy = Annotated[
    list[Path] | None,
    typer.Option(
        help="A trained empathy classifier, or a folder of them; repeatable. Default: runs, then runs/labels.",
        show_default=False,
    ),
]
AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="Score empty replies as they are.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
