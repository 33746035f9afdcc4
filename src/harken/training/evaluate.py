"""How likely a generator finds the gold responses, and how well it reads emotions.

Likelihoods condition on what the model predicts itself; with `oracle` they may use the gold emotion, as some published
figures do. Everything is a sum with its count, so parts add up whatever the batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from harken.models.contract import Generator
from harken.models.losses import Term, emotion_hits, perplexity
from harken.text.batches import Encoded, in_order_of_length
from harken.text.vocabulary import UNK

TOPS = (1, 2, 5)


@torch.inference_mode()
def evaluate(
    generator: Generator,
    rows: Sequence[Encoded],
    *,
    batch_size: int = 64,
    oracle: bool = False,
    advance: Callable[[int], None] | None = None,
) -> dict[str, Term]:
    """Sums over `rows`: `nll` per token, `utterance` the mean NLL per utterance, `unknown` words; `emotion_top1` … and
    `label_top1` … where the model predicts them.
    """
    generator.eval()
    device = generator.output.weight.device
    sums: dict[str, Term] = {}
    for chosen, on_cpu in in_order_of_length(rows, batch_size):
        batch = on_cpu.to(device)
        state = generator.encode(batch, oracle=oracle)
        nll = generator.nll(batch, state).double()  # (B, T)
        tokens = (~batch.target_pad).sum(1)  # (B,)
        found = {
            "nll": Term(nll.sum(), tokens.sum()),
            "utterance": Term((nll.sum(1) / tokens).sum(), _count(len(chosen), nll)),
            "unknown": Term((batch.target == UNK).sum().double(), tokens.sum()),
        }
        if state.emotion_logits is not None:
            found |= {f"emotion_top{top}": emotion_hits(state.emotion_logits, batch.emotion, top) for top in TOPS}
        if state.label_logits is not None:
            found |= {f"label_top{top}": emotion_hits(state.label_logits, batch.label, top) for top in TOPS}
        sums = {name: sums[name] + term if name in sums else term for name, term in found.items()}
        if advance is not None:
            advance(len(chosen))
    return sums


def _count(number: int, like: Tensor) -> Tensor:
    return torch.tensor(number, device=like.device)


def summary(sums: dict[str, Term]) -> dict[str, float | int]:
    """The figures of `evaluate`, as metrics.json holds them."""
    figures: dict[str, float | int] = {
        "perplexity": perplexity(sums["nll"]),
        "perplexity_utterance_mean": perplexity(sums["utterance"]),
        "unknown": float(sums["unknown"].mean),
        "responses": int(sums["utterance"].count),
        "tokens": int(sums["nll"].count),
    }
    figures |= {name: float(term.mean) for name, term in sums.items() if "_top" in name}
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in figures.items()}
