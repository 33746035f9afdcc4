"""The model card of a run: its README."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import harken
from harken import config as configs
from harken.files import atomic
from harken.models import MODELS
from harken.training.config import RunConfig

_CARD = """# {name}

A listener trained with harken {version}: **{model}** ({citation}) on **{corpus}**.

| | |
|---|---|
| parameters | {parameters:,} |
| vocabulary | {vocabulary:,} tokens, {kind}, from {source} |
| training | {steps:,} steps, {epochs} epochs, {minutes:.0f} minutes, seed {seed}; best at step {best_step:,} |

## Results

{results}

Likelihoods condition on the emotion the model predicts; rows marked *oracle* use the gold emotion, as some published
figures do. Perplexity depends on the vocabulary: compare it only within one. *Utterance mean* is the exponential of the
mean over responses of each response's mean, as the MoEL family reports it; *token* is over all tokens.

## Use

    harken chat {folder}
    harken reply {folder} --split test --beam 5

It answers in the manner of its training corpus and has that corpus's biases and licence. It is no counsellor: it may
misread a feeling or say something hurtful, and must not be left alone with people in distress.

## Config

```yaml
{config}```
"""


def write_card(folder: Path, config: RunConfig, metrics: dict[str, Any]) -> None:
    """Write the card into a run folder."""
    rows = [
        "| split | perplexity, token | perplexity, utterance mean | emotion top-1 / 2 / 5 | responses |",
        "|---|---|---|---|---|",
    ]
    for key, title in (
        ("valid", "valid"),
        ("test", "test"),
        ("valid_oracle", "valid, *oracle*"),
        ("test_oracle", "test, *oracle*"),
    ):
        if key in metrics:
            part = metrics[key]
            emotions = " / ".join(f"{part[f'emotion_top{k}']:.1%}" for k in (1, 2, 5) if f"emotion_top{k}" in part)
            rows.append(
                f"| {title} | {part['perplexity']:.2f} | {part['perplexity_utterance_mean']:.2f} "
                f"| {emotions or '–'} | {part['responses']:,} |"
            )
    text = _CARD.format(
        name=folder.resolve().name,
        folder=folder.name,
        version=harken.__version__,
        citation=MODELS[config.model].citation,
        kind={"words": "words", "bpe": "byte pairs", "pretrained": "pieces"}[config.text.kind],
        source="training text" if config.text.source == "train" else "the text of all splits (the published protocol)",
        minutes=metrics["seconds"] / 60,
        results="\n".join(rows),
        config=configs.dump(config),
        **{
            k: metrics[k]
            for k in ("model", "corpus", "parameters", "vocabulary", "steps", "epochs", "seed", "best_step")
        },
    )
    with atomic(folder / "README.md") as stream:
        stream.write(text)
