"""What tests of training share."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from typing import Any

from harken.training.watch import Figures, Progress


class Stop:
    """Ctrl-C right after a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def noted(self, line: str) -> None: ...

    def stepped(self, progress: Progress, figures: Figures) -> None:
        if progress.step == self.step:
            signal.raise_signal(signal.SIGINT)

    def validated(self, progress: Progress, figures: Figures, samples: Sequence[Mapping[str, Any]]) -> None: ...
