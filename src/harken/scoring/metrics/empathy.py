"""Empathy by synthetic labels (LEMPEx, section 4.3.2), and beyond the paper by how much: the difference of levels.

F1 tells whether a reply shows a mechanism where the response does; a system that explores too often and one that
explores too seldom may share it. The signed difference, level of the reply less that of the response, tells them apart.
"""

from __future__ import annotations

import numpy as np

from harken.classifiers.tasks import HISTORY
from harken.labels import LEVELS
from harken.scoring.empathy import MECHANISMS, Judged, judged, obstacle
from harken.scoring.material import Material
from harken.scoring.metrics.base import Metric
from harken.scoring.metrics.labels import averaged, counts
from harken.scoring.score import PERCENT, Measured
from harken.scoring.statistics import Integers, Sums, mean


def _details(found: Judged) -> dict[str, str]:
    return {"of": "reply-response", "history": str(HISTORY), "classifier": found.classifier}


def _shares(levels: Integers) -> dict[str, int]:
    return dict(zip(LEVELS, np.bincount(levels, minlength=len(LEVELS)).tolist(), strict=True))


def _f1(mechanism: str) -> Metric:
    name = f"{mechanism}-f1-macro"

    def measure(material: Material) -> Measured:
        found = judged(material, mechanism)
        statistic = Sums(counts(found.responses, found.replies), averaged("f1", "macro"))
        extras = {"levels": {"replies": _shares(found.replies), "responses": _shares(found.responses)}}
        return Measured(name, statistic, len(material), PERCENT, {"average": "macro"} | _details(found), extras)

    return Metric(
        name=name,
        title=f"{mechanism.replace('-', ' ')}, macro F1",
        reported_by="LEMPEx, with other classifiers",
        measure=measure,
        needs=("context", "response"),
        cost="neural",
        lacks=lambda material: obstacle(MECHANISMS[mechanism], material.settings.empathy),
    )


def _difference(mechanism: str) -> Metric:
    name = f"{mechanism}-difference"

    def measure(material: Material) -> Measured:
        found = judged(material, mechanism)
        return Measured(name, mean(found.replies - found.responses), len(material), "level", _details(found))

    return Metric(
        name=name,
        title=f"{mechanism.replace('-', ' ')} over the response's",
        reported_by="harken",
        measure=measure,
        needs=("context", "response"),
        better="neither",
        cost="neural",
        lacks=lambda material: obstacle(MECHANISMS[mechanism], material.settings.empathy),
    )


EMPATHY = (*(_f1(one) for one in MECHANISMS), *(_difference(one) for one in MECHANISMS))
EMPATHY_SET = (
    *(f"{one}-f1-macro" for one in MECHANISMS),
    "sentiment-error",
    *(f"{one}-difference" for one in MECHANISMS),
    "sentiment-difference",
)
"""What `--metrics empathy` stands for: LEMPEx's Table 5, and the differences."""
