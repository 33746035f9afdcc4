"""Conversation in, Reply out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from harken.corpora.starter import starter_dialogues
from harken.listeners.base import Exemplar, Listener, Reply, steered

__all__ = ["Exemplar", "Listener", "Reply", "load_listener", "steered"]


def load_listener(
    run: str | Path | None = None,
    *,
    pool: Sequence[str] = (),
    started: Callable[[int], Callable[[int], None]] | None = None,
) -> Listener:
    """The listener that `harken chat` uses: that of a run folder, or the built-in one.

    The built-in one's pool is widened by the training turns of the stored corpora in `pool`. The first load encodes the
    pool and keeps the vectors in the cache; `started` hears how many texts that is and gives back a function that
    hears the progress.
    """
    if run is not None:
        from harken.listeners.generator import GeneratorListener
        from harken.listeners.retrieval import RetrievalListener
        from harken.retrieval.config import is_ranker

        folder = Path(run)
        return RetrievalListener.load(folder, started) if is_ranker(folder) else GeneratorListener.load(folder)

    from harken.corpora import store
    from harken.listeners.builtin import BuiltInListener
    from harken.listeners.pool import build_pool
    from harken.text.encoder import SentenceEncoder

    dialogues = starter_dialogues()
    for name in pool:
        dialogues += store.load(name, "train")
    encoder = SentenceEncoder()
    return BuiltInListener(build_pool(dialogues, encoder, started), encoder)
