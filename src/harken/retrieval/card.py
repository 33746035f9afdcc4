"""The model card of a ranker's run: its README."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import harken
from harken import config as configs
from harken.files import atomic
from harken.retrieval.config import RankerRunConfig

_CARD = """# {name}

A bi-encoder ranker trained with harken {version} on **{corpora}** ({start}).

| | |
|---|---|
| parameters | {parameters:,}{beside} |
| training | {steps:,} steps, {epochs} epochs, {minutes:.0f} minutes, seed {seed}; best at step {best_step:,} |

## Results

{results}

P@1,100: how often a context's own response is first among 100. *Shuffled* blocks mix conversations; *in order* they hold
neighbours of one conversation, which is harder. Candidates that tie share the place.{emotions}

## Use

    harken index {folder} --corpus {corpus} --out {folder}/index
    harken chat {folder}
    harken reply {folder} --split test

It answers with sentences people wrote to someone else. It has their biases and their corpus's licence, may misread a
feeling, is no counsellor, and must not be left alone with people in distress.

## Config

```yaml
{config}```
"""


def write_card(folder: Path, config: RankerRunConfig, metrics: dict[str, Any]) -> None:
    """Write the card into a run folder."""
    rows = ["| split | P@1,100 shuffled | P@1,100 in order | recall@10 | MRR |", "|---|---|---|---|---|"]
    emotions = []
    for split in ("valid", "test"):
        if split in metrics:
            part = metrics[split]
            shares = [f"{part[name]:.1%}" for name in ("emotion_top1", "emotion_top2", "emotion_top5") if name in part]
            emotions += [f"{split} {' / '.join(shares)}"] if shares else []
            rows.append(
                f"| {split} | {part['p@1,100']:.1f} % | {part['p@1,100-inorder']:.1f} % | {part['recall@10']:.1f} % "
                f"| {part['mrr']:.3f} |"
            )
    network = config.network
    begin = config.start_from or (network.encoder or "MiniLM" if network.kind == "pretrained" else None)
    other = network.ensemble and (network.ensemble.classifier or "the built-in one of emotions")
    text = _CARD.format(
        name=folder.resolve().name,
        folder=folder.name,
        version=harken.__version__,
        start="from scratch" if begin is None else f"from {begin}",
        minutes=metrics["seconds"] / 60,
        results="\n".join(rows),
        beside="" if other is None else f", beside a frozen classifier: {other}",
        emotions=f"\n\nEmotion of the context, top 1 / 2 / 5: {'; '.join(emotions)}." if emotions else "",
        corpus=config.corpora[-1],
        config=configs.dump(config),
        **{k: metrics[k] for k in ("parameters", "steps", "epochs", "seed", "best_step")},
        corpora=", ".join(metrics["corpora"]),
    )
    with atomic(folder / "README.md") as stream:
        stream.write(text)
