"""A pre-trained text encoder as a module that trains: any Hugging Face directory, MiniLM from its package by default.

    ids, mask   what `tokenize` makes of texts or of pairs of texts    (B, S)
    states      what `forward` makes of them                           (B, S, D)

`SentenceEncoder` (text/encoder.py) only reads vectors and starts in no time; this one has gradients. Both read the same
folders, so what is tuned here and saved serves there. Nothing is ever fetched: a folder is on the disk or it is an error.
Weights are float32 whatever the file holds.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from harken.errors import HarkenError
from harken.text.encoder import minilm_folder


@dataclass(frozen=True)
class TokenBatch:
    """Padded token ids; `mask` is True on tokens and False on padding; `types` tells the halves of pairs apart."""

    ids: Tensor  # (B, S)
    mask: Tensor  # (B, S)
    types: Tensor | None = None  # (B, S)

    def to(self, device: torch.device | str) -> TokenBatch:
        """The same batch there."""
        return TokenBatch(
            self.ids.to(device), self.mask.to(device), None if self.types is None else self.types.to(device)
        )


class TextEncoder(nn.Module):
    """Tokeniser and transformer of a Hugging Face folder."""

    def __init__(self, folder: Path | None = None, *, weights: bool = True) -> None:
        """`weights` off builds the network without reading its numbers, for whoever keeps them elsewhere."""
        super().__init__()
        self.folder = minilm_folder() if folder is None else folder
        self.tokenizer, self.transformer = _read(self.folder, weights)
        self.width = int(self.transformer.config.hidden_size)
        self.longest = _positions(self.transformer.config, self.tokenizer.model_max_length)
        """Tokens beyond these have no position, so texts are always cut here."""
        if self.tokenizer.pad_token is None:
            raise HarkenError(f"{self.folder}: its tokeniser has no padding token; set 'pad_token' in its config")

    def tokenize(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, max_tokens: int = 128
    ) -> TokenBatch:
        """Texts, or with `pairs` each text and its second half, cut to `max_tokens` (of a pair the longer half first)."""
        if pairs is not None and len(pairs) != len(texts):
            raise HarkenError(f"{len(texts)} texts cannot be paired with {len(pairs)}; give as many of each")
        found = self.tokenizer(
            list(texts),
            None if pairs is None else list(pairs),
            padding=True,
            truncation="longest_first",
            max_length=min(max_tokens, self.longest),
            return_tensors="pt",
        )
        kinds = getattr(self.transformer.config, "type_vocab_size", None) or 0
        types = found.get("token_type_ids") if kinds > 1 else None
        return TokenBatch(found["input_ids"], found["attention_mask"].bool(), types)

    def forward(self, batch: TokenBatch) -> Tensor:
        """The last layer's states, (B, S, D)."""
        types = {} if batch.types is None else {"token_type_ids": batch.types}
        states: Tensor = self.transformer(
            input_ids=batch.ids, attention_mask=batch.mask.long(), **types
        ).last_hidden_state
        return states

    def vectors(self, batch: TokenBatch) -> Tensor:
        """One vector a text, the mean of its states, (B, D)."""
        return mean_pooled(self(batch), batch.mask)

    def freeze(self, layers: int) -> None:
        """Keep the embeddings and the lowest `layers` layers as they are."""
        stacks = [module for module in self.transformer.modules() if isinstance(module, nn.ModuleList)]
        stack = max(stacks, key=len, default=nn.ModuleList())
        if not 0 <= layers <= len(stack):
            raise HarkenError(f"frozen_layers = {layers} must lie in 0..{len(stack)}, the layers of {self.folder}")
        self.requires_grad_(False)
        for layer in stack[layers:]:
            layer.requires_grad_(True)

    def set_dropout(self, share: float) -> None:
        """Drop that share of the states in every layer while training, whatever the folder's config says."""
        for module in self.transformer.modules():
            if isinstance(module, nn.Dropout):
                module.p = share

    def save(self, folder: Path, *, weights: bool = True) -> None:
        """Write a Hugging Face directory that this class, SentenceEncoder and transformers read; whole or not at all.

        `weights` off writes only config and tokeniser.
        """
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
            written = Path(temporary) / "encoder"
            (self.transformer if weights else self.transformer.config).save_pretrained(written)
            self.tokenizer.save_pretrained(written)
            if folder.exists():
                shutil.rmtree(folder)
            written.rename(folder)


def mean_pooled(states: Tensor, mask: Tensor) -> Tensor:
    """The mean of the states of real tokens. (B, S, D), (B, S) -> (B, D)"""
    keep = mask.unsqueeze(-1).to(states.dtype)  # (B, S, 1)
    return (states * keep).sum(1) / keep.sum(1)


def _positions(config: Any, given: int) -> int:
    """How many tokens fit; RoBERTa and its kin count positions from 2."""
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 512
    offset = 2 if any(kin in config.model_type for kin in ("roberta", "camembert", "mpnet")) else 0
    return int(min(positions - offset, given))


def _read(folder: Path, weights: bool) -> tuple[Any, Any]:
    """Tokeniser and model of a folder, from the disk alone."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from transformers import AutoConfig, AutoModel, AutoModelForTextEncoding, AutoTokenizer
    from transformers.utils import logging

    if not (folder / "config.json").is_file():
        raise HarkenError(f"{folder}: is no Hugging Face folder (there is no config.json); name one with an encoder")
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        kind: Any = AutoModelForTextEncoding if "t5" in config.model_type else AutoModel  # of T5 only the encoder
        if weights:
            return tokenizer, kind.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
        return tokenizer, kind.from_config(config, dtype=torch.float32)
    except Exception as problem:  # whatever is wrong with the files, and transformers raises nearly everything
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise HarkenError(f"{folder}: cannot be read as a Hugging Face encoder ({reason})") from problem
