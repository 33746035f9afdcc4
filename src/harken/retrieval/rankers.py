"""Bi-encoders: a context and a candidate become vectors whose dot product says how well they fit.

    benchmark (Rashkin et al. 2019)    here                              shape
    context encoder, h_x               ranker("context", texts)          (B, D)
    candidate encoder, h_y             ranker("candidate", texts)        (B, D)
    y* = argmax h_x · h_y              retrieval/index.py
    ensemble encoder (Figure 5)        retrieval/ensemble.py
    multitask                          retrieval/multitask.py

One contract, two kinds: the benchmark's transformer from scratch, and a pre-trained encoder. Either reads a context as its
turns one after the other, an end mark between them; of a long context the last tokens stay, of a long candidate the first.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from harken.errors import HarkenError
from harken.labels import EMOTIONS
from harken.models.layers import Embedding, Shape, xavier
from harken.models.pretrained import TextEncoder, TokenBatch, mean_pooled
from harken.models.stacks import Encoder
from harken.retrieval.added import MODEL, Added, fill
from harken.retrieval.config import RankerConfig, read_config
from harken.retrieval.prepend import Prepend
from harken.text.encoder import Vectors
from harken.text.vectors import read_vectors
from harken.text.vocabulary import EOS, PAD, UNK, Words, load_vocabulary
from harken.training import run as runs

Side = Literal["context", "candidate"]
Context = Sequence[str]
"""Turns, the oldest first."""
Started = Callable[[int], Callable[[int], None]]


class Ranker(nn.Module, ABC):
    """What every ranker is."""

    def __init__(self, config: RankerConfig) -> None:
        super().__init__()
        self.config = config
        self.prepend = Prepend(config.prepend) if config.prepend else None

    def extend(self, sides: int) -> None:
        """Add what the config wants beside the encoders; the last act of a constructor, so that these begin as without it."""
        if self.config.ensemble is not None and self.config.ensemble.frozen:
            self.requires_grad_(False)
        self.added = Added(self.config, self.width, sides)

    @abstractmethod
    def tokens(self, side: Side, texts: Sequence[Context]) -> TokenBatch:
        """Padded tokens, (B, S); a candidate is a context of one turn."""

    @abstractmethod
    def states(self, side: Side, batch: TokenBatch) -> Tensor:
        """Token states, (B, S) -> (B, S, D)."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write all that `load` needs, the config apart, into a run folder."""

    def forward(self, side: Side, texts: Sequence[Context], *, emotions: bool = False) -> Tensor:
        """The mean of the states, of length 1 if so configured, (B, D); with `emotions`, their logits too, (B, D + E)."""
        batch = self.tokens(side, texts).to(self.device)
        mean = mean_pooled(self.states(side, batch), batch.mask)  # (B, D)
        if self.added.ensemble is not None:
            mean = self.added.ensemble(side, mean, texts)
        vectors = F.normalize(mean, dim=1) if self.config.normalise else mean
        if emotions and self.added.emotions is not None:
            return torch.cat([vectors, self.added.emotions(mean)], dim=1)
        return vectors

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def limit(self, side: Side) -> int:
        """The longest input in tokens."""
        return self.config.max_context if side == "context" else self.config.max_candidate

    def encode(
        self,
        side: Side,
        texts: Sequence[Context],
        *,
        emotions: bool = False,
        batch_size: int = 64,
        advance: Callable[[int], None] | None = None,
    ) -> Vectors:
        """`forward` without gradients; like lengths share a batch, rows go back to their own places."""
        self.eval()
        found = np.zeros((len(texts), self.width + emotions * len(EMOTIONS)), dtype=np.float32)
        order = in_order_of_length(texts)
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            with torch.inference_mode():
                found[rows] = self(side, [texts[i] for i in rows], emotions=emotions).cpu().numpy()
            if advance:
                advance(len(rows))
        return found

    def encode_contexts(self, contexts: Sequence[Context], advance: Callable[[int], None] | None = None) -> Vectors:
        """Vectors of contexts, the last `history` turns of each, (N, D)."""
        return self.read_contexts(contexts, advance)[0]

    def read_contexts(
        self, contexts: Sequence[Context], advance: Callable[[int], None] | None = None
    ) -> tuple[Vectors, Vectors | None]:
        """Their vectors, (N, D), and the logits of their emotions, (N, E), if the ranker learnt any."""
        recent = [tuple(turns[-self.config.history :]) for turns in contexts]
        emotions = self.added.emotions is not None
        found = self.encode("context", recent, emotions=emotions, advance=advance)
        return found[:, : self.width], found[:, self.width :] if emotions else None

    def encode_candidates(self, texts: Sequence[str], advance: Callable[[int], None] | None = None) -> Vectors:
        """Vectors of candidates, (N, D)."""
        return self.encode("candidate", [(text,) for text in texts], advance=advance)

    @property
    @abstractmethod
    def width(self) -> int:
        """D."""

    def fingerprint(self) -> str:
        """Identifies weights and reading: vectors made under another fingerprint are not comparable."""
        reading = {name: value for name, value in vars(self.config).items() if name not in _LEFT_OUT}
        if self.prepend is not None:  # the classifier itself, wherever it lies
            reading["prepend"] = (self.prepend.classifier.hash, self.prepend.config.k)
        digest = hashlib.sha256(repr(sorted(reading.items())).encode())
        for name, tensor in sorted(self.state_dict().items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(tensor.detach().cpu().numpy()).data)
        return digest.hexdigest()[:16]


_TRAINING_ONLY = {"encoder", "vectors", "dropout", "scale", "min_count", "frozen_layers"}
"""What leaves the vectors of given weights as they are."""
_TOLD_OTHERWISE = {"prepend", "multitask", "ensemble"}
"""Known by the classifiers and weights they bring, wherever these lie."""
_LEFT_OUT = _TRAINING_ONLY | _TOLD_OTHERWISE


class TransformerRanker(Ranker):
    """The benchmark's: two encoders over one table of words."""

    def __init__(self, config: RankerConfig, vocabulary: Words) -> None:
        super().__init__(config)
        self.vocabulary = vocabulary
        shape = Shape(
            d_model=config.d_model,
            n_heads=config.n_heads,
            depth=None,
            feed_forward="relu",
            d_inner=config.d_inner,
            dropout=config.dropout,
            project=False,
        )
        # Large from the start: nothing but the words tells two texts apart, and positions would drown small vectors.
        self.embedding = Embedding(len(vocabulary), config.d_model, tied=True)
        self.encoders = nn.ModuleDict({side: Encoder(shape, config.n_layers) for side in ("context", "candidate")})
        xavier(self)
        self.extend(sides=2)

    @property
    def width(self) -> int:
        """D."""
        return self.config.d_model

    def tokens(self, side: Side, texts: Sequence[Context]) -> TokenBatch:
        """Labels and words of the turns, an end mark between them; a text without a word is one unknown word."""
        rows = []
        for labels, turns in zip(self.prepend(texts) if self.prepend else [""] * len(texts), texts, strict=True):
            front = [*self.vocabulary.encode(labels), EOS] if labels else []
            ids = [i for turn in turns for i in (*self.vocabulary.encode(turn), EOS)][:-1] or [UNK]
            limit = max(1, self.limit(side) - len(front))
            rows.append(torch.tensor([*front, *(ids[-limit:] if side == "context" else ids[:limit])]))
        padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
        lengths = torch.tensor([len(row) for row in rows])
        return TokenBatch(padded, torch.arange(padded.shape[1]) < lengths.unsqueeze(1))

    def states(self, side: Side, batch: TokenBatch) -> Tensor:
        """(B, S) -> (B, S, D)."""
        states: Tensor = self.encoders[side](self.embedding(batch.ids), ~batch.mask)
        return states

    def save(self, folder: Path) -> None:
        """Vocabulary and weights."""
        self.vocabulary.save(folder)
        runs.write_weights(folder / runs.WEIGHTS, self, MODEL)


class PretrainedRanker(Ranker):
    """A pre-trained encoder for both sides, or one for each."""

    def __init__(self, config: RankerConfig, folders: Sequence[Path | None]) -> None:
        super().__init__(config)
        self.encoders = nn.ModuleList(TextEncoder(folder) for folder in folders)
        for encoder in self.encoders:
            if config.frozen_layers is not None:
                cast(TextEncoder, encoder).freeze(config.frozen_layers)
            cast(TextEncoder, encoder).set_dropout(config.dropout)
        self.extend(sides=len(folders))

    @property
    def width(self) -> int:
        """D."""
        return cast(TextEncoder, self.encoders[0]).width

    def encoder(self, side: Side) -> TextEncoder:
        """The encoder of a side: the first reads contexts, the last candidates."""
        return cast(TextEncoder, self.encoders[0 if side == "context" else -1])

    def tokens(self, side: Side, texts: Sequence[Context]) -> TokenBatch:
        """The turns joined by the tokeniser's own separator; labels are the first half of a pair."""
        encoder = self.encoder(side)
        tokenizer = encoder.tokenizer
        tokenizer.truncation_side = "left" if side == "context" else "right"
        mark = tokenizer.sep_token or tokenizer.eos_token or ""
        whole = [f" {mark} ".join(turns) for turns in texts]
        if self.prepend is None:
            return encoder.tokenize(whole, max_tokens=self.limit(side))
        return encoder.tokenize(self.prepend(texts), whole, max_tokens=self.limit(side))  # the longer half is cut

    def states(self, side: Side, batch: TokenBatch) -> Tensor:
        """(B, S) -> (B, S, D)."""
        states: Tensor = self.encoder(side)(batch)
        return states

    def save(self, folder: Path) -> None:
        """A Hugging Face folder for each encoder, and the weights of what is beside them."""
        for number, encoder in enumerate(self.encoders):
            cast(TextEncoder, encoder).save(folder / _FOLDERS[number])
        if self.added.state_dict():
            runs.write_weights(folder / runs.WEIGHTS, self.added, MODEL)


_FOLDERS = ("encoder", "candidate-encoder")


def in_order_of_length(texts: Sequence[Context]) -> list[int]:
    """Row numbers, the longest text first."""
    return sorted(range(len(texts)), key=lambda i: -sum(map(len, texts[i])))


def build(config: RankerConfig, texts: Callable[[], Any]) -> Ranker:
    """An untrained ranker; `texts` gives the training turns, which only the transformer's vocabulary needs."""
    if config.kind == "pretrained":
        return PretrainedRanker(config, [config.encoder] * (2 if config.separate else 1))
    vocabulary = Words.build(texts(), config.min_count, Prepend(config.prepend).words if config.prepend else ())
    ranker = TransformerRanker(config, vocabulary)
    if config.vectors is not None:
        found = read_vectors(config.vectors, vocabulary, config.d_model)
        with torch.no_grad():
            ranker.embedding.weight.index_copy_(0, found.ids, found.rows / config.d_model**0.5)
    return ranker


def load(folder: Path, network: RankerConfig | None = None) -> Ranker:
    """The ranker of a run folder; `network` reads it under other settings, and what these add begins anew."""
    config, path = network or read_config(folder).network, folder / runs.WEIGHTS
    if config.kind == "pretrained":
        places = [folder / name for name in (_FOLDERS if config.separate else _FOLDERS[:1])]
        for place in places:
            if not place.is_dir():
                raise HarkenError(f"{place}: there is no such folder; has the run been validated once?")
        tuned = PretrainedRanker(config, places)
        if tuned.added.state_dict() and (network is None or path.is_file()):
            fill(tuned.added, path, "", anew=network is not None)
        return tuned.eval()
    vocabulary = load_vocabulary(folder)
    if not isinstance(vocabulary, Words):
        raise HarkenError(f"{folder}: its vocabulary is not one of words; it is of another model")
    ranker = TransformerRanker(config, vocabulary)
    fill(ranker, path, "added.", anew=network is not None)
    return ranker.eval()
