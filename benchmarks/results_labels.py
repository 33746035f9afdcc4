"""The parts of docs/results.md about classifiers and rankers: measured runs kept in docs/results/labels-* and rankers-*."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.markdown import table

PUBLISHED_LABELS = {
    "empathy-emotional": "82.99 (LEMPEx, Table 1)",
    "empathy-interpretation": "84.47 (LEMPEx, Table 1)",
    "empathy-exploration": "94.04 (LEMPEx, Table 1)",
    "intent": "65.88 (MEED2)",
}

LABELS = (
    "run",
    "kind",
    "corpus",
    "labels",
    "accuracy, %",
    "macro F1, %",
    "weighted F1, %",
    "calibration error, before → after",
    "test examples",
    "minutes",
    "published accuracy",
)
RANKERS = (
    "run",
    "trained on",
    "P@1,100 shuffled, %",
    "in order, %",
    "recall@10, %",
    "MRR",
    "BLEU, mean of 1–4",
    "parameters, M",
    "steps",
    "hours",
)


def metrics_of(kept: Path, kind: str) -> dict[str, dict[str, Any]]:
    """What was measured of each run of a kind, by the run's name."""
    folders = sorted(folder for folder in kept.glob(f"{kind}-*") if (folder / "metrics.json").exists())
    return {
        folder.name.removeprefix(f"{kind}-"): json.loads((folder / "metrics.json").read_text()) for folder in folders
    }


def labels_table(kept: Path) -> str:
    """A row for each classifier."""
    rows = []
    for name, metrics in metrics_of(kept, "labels").items():
        test = metrics["test"]
        row = [
            f"[{name}](results/labels-{name}/config.yaml)",
            metrics["kind"],
            metrics["corpus"],
            str(metrics["labels"]),
            f"**{100 * test['accuracy']:.2f}**",
            f"{100 * test['macro_f1']:.2f}",
            f"{100 * test['weighted_f1']:.2f}",
            f"{test['calibration_error_before']:.3f} → {test['calibration_error']:.3f}",
            f"{test['examples']:,}",
            f"{metrics['seconds'] / 60:.0f}",
            PUBLISHED_LABELS.get(metrics["task"], ""),
        ]
        rows.append(row)
    return table(LABELS, rows)


def rankers_table(kept: Path) -> str:
    """A row for each ranker."""
    rows = []
    for name, metrics in metrics_of(kept, "rankers").items():
        test = metrics["test"]
        scores = kept / f"rankers-{name}" / "scores.json"
        bleu = json.loads(scores.read_text())["retrieval"]["bleu-avg"] if scores.exists() else None
        row = [
            f"[{name}](results/rankers-{name}/config.yaml)",
            ", ".join(metrics["corpora"]),
            f"**{test['p@1,100']:.2f}**",
            f"{test['p@1,100-inorder']:.2f}",
            f"{test['recall@10']:.2f}",
            f"{test['mrr']:.3f}",
            "–" if bleu is None else f"{bleu:.2f}",
            f"{metrics['parameters'] / 1e6:.1f}",
            f"{metrics['best_step']:,} of {metrics['steps']:,}",
            f"{metrics['seconds'] / 3600:.1f}",
        ]
        rows.append(row)
    return table(RANKERS, rows)
