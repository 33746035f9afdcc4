"""Losses over dot products, and the cached gradients that let a large batch through a small memory.

    symbol      here           shape     where
    h_x, c      contexts       (B, D)    Rashkin et al. 2019, section 4; LEMPEx, Algorithm 2
    h_y, r      candidates     (N, D)    the B responses first, further negatives behind them
    sim(c, r)   contexts · candidates    LEMPEx, Algorithm 2

Cached gradients (GradCache, Gao et al. 2021): the loss needs every vector of the batch at once, the network's memory only
those of one chunk. Encode the chunks without a graph, take the loss and its gradient by the vectors, then encode each chunk
again with a graph and hand its vectors' gradient back. The gradient is the plain one; the price is a second forward
pass of the chunks that were not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from harken.models.losses import Term


def in_batch_nll(contexts: Tensor, candidates: Tensor, *, scale: float = 1.0, same: Tensor | None = None) -> Term:
    """-log softmax of each context's own response among all candidates, (B, D), (N, D) -> Term over B.

    Row i's response is candidate i. `same` (B, N) is True where a candidate says what the response says: such a one is
    no negative, so it is left out of the sum.
    """
    scores = scale * contexts @ candidates.t()  # (B, N)
    gold = torch.arange(len(contexts), device=contexts.device)
    if same is not None:
        others = same.clone()
        others[gold, gold] = False
        scores = scores.masked_fill(others, -torch.inf)
    return Term(F.cross_entropy(scores, gold, reduction="sum"), torch.tensor(len(gold), device=contexts.device))


def own_negatives_nll(contexts: Tensor, responses: Tensor, negatives: Tensor, *, scale: float = 1.0) -> Term:
    """LEMPEx's loss over each context's own negatives, (B, D), (B, D), (B, K, D) -> Term over B.

    The denominator of Eq. 11 sums similarities and not their exponentials; Algorithm 2 exponentiates both, and so do we.
    """
    positive = scale * (contexts * responses).sum(1, keepdim=True)  # (B, 1)
    negative = scale * torch.einsum("bd,bkd->bk", contexts, negatives)  # (B, K)
    nll = torch.logsumexp(torch.cat([positive, negative], dim=1), dim=1) - positive.squeeze(1)  # (11)
    return Term(nll.sum(), torch.tensor(len(contexts), device=contexts.device))


def cached_backward(
    chunks: Sequence[Callable[[], Tensor]], loss_of: Callable[[list[Tensor]], Tensor], *, kept: int = 0, seed: int = 0
) -> Tensor:
    """Accumulate the gradient of `loss_of` over the vectors of all chunks; gives the loss.

    The first `kept` chunks keep their graph. Dropout falls alike in both passes: each chunk has its own seed.
    """

    def encoded(number: int) -> Tensor:
        torch.manual_seed(seed + number)
        return chunks[number]()

    with_graph = [encoded(number) for number in range(min(kept, len(chunks)))]
    with torch.no_grad():
        without = [encoded(number) for number in range(len(with_graph), len(chunks))]
    vectors = [*with_graph, *without]
    leaves = [vector.detach().requires_grad_() for vector in vectors]
    loss = loss_of(leaves)
    slopes = torch.autograd.grad(loss, leaves)
    for vector, slope in zip(with_graph, slopes, strict=False):
        vector.backward(slope)  # type: ignore[no-untyped-call]
    for number in range(len(with_graph), len(chunks)):
        encoded(number).backward(slopes[number])  # type: ignore[no-untyped-call]
    return loss.detach()
