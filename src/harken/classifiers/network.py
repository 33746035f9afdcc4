"""A pre-trained encoder with a linear head: one text, a pair read together, or a pair read apart.

    cross   LEMPEx, section 4.3.2: post and answer as one sequence, so every word sees every other
    bi      EPITOME (Sharma et al. 2020, section 5): an encoder each, the answer's states attend to the post's

Where we differ: the head reads the mean of the states, which MiniLM was trained for, and not the first one.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from harken.classifiers.base import Item, halves
from harken.models.losses import Term
from harken.models.pretrained import TextEncoder, TokenBatch, mean_pooled

Tokens = tuple[TokenBatch, TokenBatch | None]
"""What is read and, for a bi-encoder, the post it answers."""


def attend(answer: Tensor, post: Tensor, post_mask: Tensor) -> Tensor:
    """Each state of the answer with what it finds in the post added to it. (B, R, D), (B, S, D), (B, S) -> (B, R, D)"""
    found = F.scaled_dot_product_attention(answer, post, post, attn_mask=post_mask.unsqueeze(1))
    return answer + found  # softmax(e_R e_S^T / sqrt(d)) e_S, residual


def weighted_nll(logits: Tensor, gold: Tensor, weight: Tensor | None) -> Term:
    """Cross-entropy, each example by the weight of its label. (B, L), (B,), (L,) -> Term over examples."""
    return Term(F.cross_entropy(logits, gold, weight, reduction="sum"), torch.tensor(len(gold)))


def balancing(counts: Sequence[int]) -> Tensor:
    """Weights that make every label count alike and leave the mean over the training examples at 1. (L,)

    Counts of 30, 10 and 5 give 0.5, 1.5 and 3: each label weighs 15 in all, 45 together, as many as examples.
    """
    examples = torch.tensor(counts, dtype=torch.float32)
    return examples.sum() / (len(counts) * examples)


class Network(nn.Module):
    """Encoder, and for a bi-encoder the post's encoder, with the head on top."""

    def __init__(self, encoder: TextEncoder, post: TextEncoder | None, labels: int, dropout: float) -> None:
        super().__init__()
        self.encoder, self.post = encoder, post
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(encoder.width, labels)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def tokenize(self, items: Sequence[Item], max_tokens: int) -> Tokens:
        """Items as this network reads them."""
        first, second = halves(items)
        if self.post is None or second is None:
            return self.encoder.tokenize(first, second, max_tokens=max_tokens), None
        return self.encoder.tokenize(second, max_tokens=max_tokens), self.post.tokenize(first, max_tokens=max_tokens)

    def forward(self, batch: TokenBatch, post: TokenBatch | None = None) -> Tensor:
        """Logits, (B, L)."""
        states = self.encoder(batch)  # (B, S, D)
        if self.post is not None and post is not None:
            states = attend(states, self.post(post), post.mask)
        logits: Tensor = self.head(self.dropout(mean_pooled(states, batch.mask)))
        return logits
