"""How many people in danger are noticed, how many others are taken for them, and how long a look takes.

On tests/data/care_sentences.jsonl: sentences written after the rules by someone who had seen neither them nor the training
sentences, half of the ordinary ones chosen to sound dangerous. `sure patterns alone` is the first layer without the
second.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from harken.serving.care import Care
from harken.serving.care_patterns import table

SENTENCES = Path(__file__).parents[1] / "tests" / "data" / "care_sentences.jsonl"


def run() -> Iterator[tuple[str, float, str]]:
    care = Care(country="US")
    rows = [json.loads(line) for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    began = time.perf_counter()
    caught = [care.signal(row["text"]) is not None for row in rows]
    each = (time.perf_counter() - began) / len(rows)
    sure = [any(match.rule.sure for match in table().matches(row["text"])) for row in rows]
    danger = [row["kind"] != "none" for row in rows]
    yield "sentences of people in danger", sum(danger), ""
    yield "recall", 100 * sum(c for c, d in zip(caught, danger, strict=True) if d) / sum(danger), "%"
    for kind in ("suicide", "self-harm", "abuse", "danger"):
        of = [c for c, row in zip(caught, rows, strict=True) if row["kind"] == kind]
        yield f"recall, {kind} ({len(of)})", 100 * sum(of) / len(of), "%"
    yield (
        "recall of sure patterns alone",
        100 * sum(c for c, d in zip(sure, danger, strict=True) if d) / sum(danger),
        "%",
    )
    calm = len(rows) - sum(danger)
    yield "ordinary sentences", calm, ""
    yield "false alarms", 100 * sum(c for c, d in zip(caught, danger, strict=True) if not d) / calm, "%"
    yield "one look", 1000 * each, "ms"
