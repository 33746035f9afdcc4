"""LEMPEx: learning to empathise using exemplars (Majumder et al. 2022).

A T5 that also reads responses people gave in like moments, and whose decoder must know from its first state how empathetic
the reply is going to be.

    paper        here                     shape         equation
    Z, Z_fused   state.memory             (B, S, D)     (1), (6)
    Z_i, psi_i   exemplar_vectors()       (B, Q, D)     (4), and the mean over tokens
    chi          chi()                    (B, D)        (5)
    FC_exl       fusion                                 (6)
    R~, R~[0]    hidden()                 (B, T, D)     (7)
    L_gen        losses()["response"]                   (8), (9)
    P_*          heads                    (B, C)        (10)
    L            losses(), training.weights             section 3.5

Beyond the paper, as its conclusion asks: `injection: attention` weighs exemplars by the context and by their relevance. It
starts as the mean.

What the paper leaves open. Section 3.4 trains heads on R~[0]; Algorithm 4 lets classifiers of their own read the reply. A reply
in words of this vocabulary has no gradient to a classifier over other tokens, so it is the heads, trained along or frozen.
Exemplars are encoded in groups of like length, which changes nothing but the time. A context without any has chi = 0.

The heads and all else that T5 does not have are made after it, so that without exemplars and with losses that weigh nothing
this is T5 to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from harken.labels import MECHANISMS
from harken.models.contract import State
from harken.models.layers import xavier
from harken.models.losses import Term
from harken.models.pretrained import mean_pooled
from harken.models.t5 import T5, T5Config, read, stack
from harken.text.batches import NO_LEVEL, Batch
from harken.text.vocabulary import TextConfig, Vocabulary

GROUP = 32
"""Exemplars encoded together."""


@dataclass(frozen=True, kw_only=True)
class LempexConfig(T5Config):
    """T5's sizes, and the parts of Table 2."""

    exemplars: bool = True
    """Off, together with `empathy`, gives the paper's T5-GloVe."""
    injection: Literal["mean", "attention"] = "mean"
    """How exemplars become one vector: their mean (Eq. 5), or weighed by the context and their relevance."""
    empathy: bool = True
    """Heads on the decoder's first state (Eq. 10); off gives 'without empathy losses'."""
    heads: Literal["trained", "frozen"] = "trained"
    """Frozen heads stay as they start: with `start_from`, as an earlier run trained them."""
    variant: Literal["paper", "release"] = "paper"
    """Three levels of each mechanism, or two as in the authors' code: none, and any."""

    def wants(self, text: TextConfig) -> Iterator[str]:
        """What a text config lacks that training this network would miss."""
        yield from super().wants(text)
        if self.exemplars and text.exemplars is None:
            yield (
                "network.exemplars needs text.exemplars.files, which harken retrieve INDEX --split SPLIT writes; "
                "name them, add a recipe section, or set network.exemplars=false"
            )
        if self.empathy and not text.levels:
            yield (
                "network.empathy needs text.levels, label files which harken label --with empathy and --with sentiment "
                "write; name them, add a recipe section, or set network.empathy=false"
            )


def mean_exemplar(psi: Tensor, real: Tensor) -> Tensor:
    """chi, the mean over the exemplars there are, 0 where there are none. (B, Q, D), (B, Q) -> (B, D)"""
    weights = real / real.sum(1, keepdim=True).clamp(min=1)
    return (weights.unsqueeze(-1) * psi).sum(1)  # (5)


def attended_exemplar(psi: Tensor, real: Tensor, query: Tensor, bonus: Tensor) -> Tensor:
    """In place of (5): the softmax of query · psi / sqrt(D) + bonus weighs. (B, Q, D), (B, Q), (B, D), (B, Q) -> (B, D)"""
    scores = (psi @ query.unsqueeze(-1)).squeeze(-1) / math.sqrt(psi.shape[-1]) + bonus  # (B, Q)
    weights = scores.masked_fill(~real, torch.finfo(scores.dtype).min).softmax(1) * real
    return (weights.unsqueeze(-1) * psi).sum(1)


def level_nll(logits: Tensor, levels: Tensor) -> Term:
    """L_EP, L_int or L_exp, (B, C), (B,) -> Term over the responses whose level is known; higher levels count as the last."""
    known = levels != NO_LEVEL
    gold = levels[known].clamp(max=logits.shape[1] - 1)
    return Term(F.cross_entropy(logits[known], gold, reduction="sum"), known.sum())


def sentiment_error(score: Tensor, sentiment: Tensor) -> Term:
    """L_sent, the squared error of tanh(score), (B, 1), (B,) -> Term over the responses whose sentiment is known."""
    known = ~sentiment.isnan()
    felt = torch.tanh(score.squeeze(1)[known])
    return Term((felt - sentiment[known]).square().sum(), known.sum())


class Lempex(T5):
    """A T5 with exemplars and empathy losses."""

    config: LempexConfig

    def __init__(self, config: LempexConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        width = config.d_model
        if config.exemplars:
            self.exemplar_encoder = stack(config, config.encoder_layers)
            self.fusion = nn.Linear(2 * width, width)  # FC_exl
            xavier(self.fusion)
            nn.init.eye_(self.fusion.weight.data[:, :width])  # what the context says passes through from the start
            if config.injection == "attention":
                self.query = nn.Linear(width, width, bias=False)
                self.relevance = nn.Parameter(torch.zeros(()))
                nn.init.zeros_(self.query.weight)
        if config.empathy:
            levels = 3 if config.variant == "paper" else 2
            self.heads = nn.ModuleDict({name: nn.Linear(width, levels) for name in MECHANISMS})  # FC_*
            self.heads["sentiment"] = nn.Linear(width, 1)
            xavier(self.heads)
            self.heads.requires_grad_(config.heads == "trained")

    def begin(self, vocabulary: Vocabulary) -> str | None:
        """Begin with the T5 of the config's folder; its encoder reads exemplars too."""
        begun = super().begin(vocabulary)
        if begun and self.config.exemplars:
            self.exemplar_encoder.load_state_dict(self.encoder.state_dict())
        return begun

    def encode(self, batch: Batch, *, oracle: bool = False) -> State:
        """Read the contexts, and the exemplars into every position of theirs."""
        state = super().encode(batch, oracle=oracle)
        if self.config.exemplars:
            chi = self.chi(batch, state.memory).unsqueeze(1).expand_as(state.memory)  # (B, S, D)
            state.memory = self.fusion(torch.cat([state.memory, chi], dim=-1))  # (6)
        return state

    def chi(self, batch: Batch, memory: Tensor) -> Tensor:
        """What the exemplars of each context have in common, (B, D)."""
        psi, real = self.exemplar_vectors(batch)
        if self.config.injection == "mean":
            return mean_exemplar(psi, real)
        query = self.query(mean_pooled(memory, ~batch.pad))  # (B, D)
        return attended_exemplar(psi, real, query, self.relevance * batch.relevance)

    def exemplar_vectors(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """psi, the mean state of each exemplar, (B, Q, D), 0 where there is none; and where there is one, (B, Q)."""
        ids, pad = batch.exemplars.flatten(0, 1), batch.exemplar_pad.flatten(0, 1)  # (B·Q, L)
        lengths = (~pad).sum(1)
        order = lengths.argsort(stable=True)
        order = order[lengths[order] > 0]
        psi = torch.zeros(len(ids), self.config.d_model, dtype=self.fusion.weight.dtype, device=ids.device)
        words = self.embedding(ids)  # (B·Q, L, D) in one lookup: each one costs a gradient as large as the table
        for start in range(0, len(order), GROUP):
            group = order[start : start + GROUP]
            longest = int(lengths[group[-1]])
            none = pad[group, :longest]
            states = read(self.exemplar_encoder, words[group, :longest], none)  # (4)
            psi = psi.index_copy(0, group, mean_pooled(states, ~none))
        return psi.view(*batch.exemplars.shape[:2], -1), (lengths > 0).view(batch.exemplars.shape[:2])

    def losses(self, batch: Batch) -> dict[str, Term]:
        """The loss of the words, and of the heads; the training config weighs them."""
        states = self.hidden(batch, self.encode(batch))  # (7)
        terms = self.response_terms(batch, states)  # (8), (9)
        if self.config.empathy:
            first = states[:, 0]  # R~[0]
            for place, name in enumerate(MECHANISMS):
                terms[name] = level_nll(self.heads[name](first), batch.levels[:, place])  # (10)
            terms["sentiment"] = sentiment_error(self.heads["sentiment"](first), batch.sentiment)  # (10), by tanh
        return terms
