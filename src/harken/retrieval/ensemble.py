"""The ensemble encoder (Rashkin et al. 2019, Figure 5): beside the ranker's own encoder one that learnt another task.

    figure           here                                               shape
    h_w              the ranker's own vector of a context or candidate  (B, D)
    h_c              `Outside`: what a frozen classifier makes of it    (B, C)
    Concat+Linear    `concat_linear`, h_e                               (B, D)

What a classifier has learnt of a text stands before its last layer: the pooled state of a tuned encoder, the text vector of
fastText. A linear reading of untouched sentence vectors (kind `vectors`, the built-in one) has learnt nothing but its last
layer, so there h_c are its probabilities.

The linear layer begins by letting h_w through and nothing else, so an untrained ensemble is the ranker it extends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from harken.classifiers.base import Classifier, Floats
from harken.classifiers.builtin import builtin
from harken.classifiers.encoder import EncoderScorer
from harken.classifiers.fasttext import FastTextScorer, prepared
from harken.classifiers.run import load_classifier
from harken.errors import HarkenError
from harken.models.pretrained import mean_pooled

REMEMBERED = 64_000_000
"""Numbers of h_c kept in memory, 256 MB: training meets the same texts every epoch."""


@dataclass(frozen=True, kw_only=True)
class RankerEnsemble:
    """Whose vectors stand beside the ranker's own."""

    classifier: Path | None = None
    """A trained classifier's run, of texts and not of pairs; null is the built-in one of emotions."""
    frozen: bool = False
    """Keep the ranker's own encoder as it began, too, and learn only the linear layer."""


def concat_linear(own: Tensor, other: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(B, D), (B, C), (D, D + C), (D,) -> (B, D)."""
    return F.linear(torch.cat([own, other], dim=1), weight, bias)  # h_e = W [h_w; h_c] + b


class Outside:
    """A frozen classifier as an encoder; what was asked once is remembered."""

    def __init__(self, classifier: Classifier) -> None:
        self.classifier, self.known = classifier, dict[str, Floats]()
        self.width, self.read = _reading(classifier)

    def __call__(self, texts: Sequence[Sequence[str]]) -> Tensor:
        """h_c of each text, which is turns joined by spaces, (B, C)."""
        joined = [" ".join(turns) for turns in texts]
        if (len(self.known) + len(joined)) * self.width > REMEMBERED:
            self.known.clear()
        new = [text for text in dict.fromkeys(joined) if text not in self.known]
        if new:
            self.known.update(zip(new, self.read(new), strict=True))
        return torch.from_numpy(np.stack([self.known[text] for text in joined]))


def _reading(classifier: Classifier) -> tuple[int, Callable[[list[str]], Floats]]:
    """C, and what makes h_c of texts."""
    scorer = classifier.scorer
    if isinstance(scorer, EncoderScorer):
        return scorer.network.head.in_features, partial(pooled_states, scorer)
    if isinstance(scorer, FastTextScorer):
        return scorer.output.shape[1], partial(text_vectors, scorer)
    return len(classifier.labels), classifier.probabilities


def pooled_states(scorer: EncoderScorer, texts: Sequence[str]) -> Floats:
    """What the head of a tuned encoder reads, (N, C)."""
    network = scorer.network.eval()
    with torch.inference_mode():
        batch = network.tokenize(texts, scorer.max_tokens)[0].to(network.head.weight.device)
        states: Floats = mean_pooled(network.encoder(batch), batch.mask).cpu().numpy()
    return states


def text_vectors(scorer: FastTextScorer, texts: Sequence[str]) -> Floats:
    """The mean of a text's word and piece vectors, (N, C)."""
    return np.stack([scorer.model.get_sentence_vector(prepared(text)) for text in texts]).astype(np.float32)


class Ensemble(nn.Module):
    """Concat+Linear: one layer where one encoder reads both sides, else one for contexts and one for candidates.

    The classifier is no part of the module: it has neither gradients nor a place among the weights. Its hash is among
    them, so that the ranker's fingerprint knows it, and weights that were learnt beside another one are refused.
    """

    def __init__(self, config: RankerEnsemble, width: int, sides: int) -> None:
        super().__init__()
        self.outside = Outside(_classifier(config.classifier))
        self.layers = nn.ModuleList(nn.Linear(width + self.outside.width, width) for _ in range(sides))
        for layer in self.layers:
            nn.init.eye_(cast(nn.Linear, layer).weight)
            nn.init.zeros_(cast(nn.Linear, layer).bias)

    def forward(self, side: str, own: Tensor, texts: Sequence[Sequence[str]]) -> Tensor:
        """(B, D) -> (B, D)."""
        layer = cast(nn.Linear, self.layers[0 if side == "context" else -1])
        return concat_linear(own, self.outside(texts).to(own), layer.weight, layer.bias)

    def get_extra_state(self) -> Tensor:
        """The classifier's hash, as a tensor, for weights files hold nothing else."""
        return torch.tensor(list(self.outside.classifier.hash.encode()), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        """Compare it."""
        made, here = bytes(state.tolist()).decode(), self.outside.classifier.hash
        if made != here:
            raise HarkenError(
                f"the ranker was trained beside the classifier {made}, and this one is {here}; "
                "name the one it knows as network.ensemble.classifier, or train the ranker again"
            )


def _classifier(folder: Path | None) -> Classifier:
    """The classifier of a run folder, or the built-in one."""
    if folder is None:
        return builtin("emotion")
    try:
        found = load_classifier(folder)
    except HarkenError as problem:
        raise HarkenError(f"network.ensemble.classifier: {problem}") from problem
    if found.pairs:
        raise HarkenError(
            f"network.ensemble.classifier: {folder}: reads pairs of texts ('{found.task}'), and a ranker has single ones; "
            "name a classifier of emotion, intent or topic"
        )
    return found
