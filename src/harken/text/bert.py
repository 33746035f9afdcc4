"""BERT's encoder (Devlin et al. 2019), from its weights alone.

transformers reads any architecture, and importing it takes longer than everything else a chat does before its first word.
The default encoder is plain BERT, so its forward pass stands here; a test holds it to transformers' own.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F


class Bert:
    """Tokeniser and weights of a BERT folder."""

    def __init__(self, folder: Path, max_tokens: int) -> None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.heads, self.layers = int(config["num_attention_heads"]), int(config["num_hidden_layers"])
        self.epsilon = float(config["layer_norm_eps"])
        self.weights = load_file(folder / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(max_tokens)
        self.tokenizer.enable_padding()

    def states(self, texts: list[str]) -> tuple[Tensor, Tensor]:
        """The last layer's states (B, T, D) and which of them are words and not padding, (B, T)."""
        encoded = self.tokenizer.encode_batch(texts)
        keep = torch.tensor([one.attention_mask for one in encoded], dtype=torch.bool)  # (B, T)
        tokens = torch.tensor([one.ids for one in encoded])  # (B, T)
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][tokens] + w["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x + w["embeddings.position_embeddings.weight"][: tokens.shape[1]], "embeddings.LayerNorm")
        mask = keep[:, None, None, :]  # (B, 1, 1, T)
        for i in range(self.layers):
            at = f"encoder.layer.{i}"
            q, k, v = (
                self._split(self._linear(x, f"{at}.attention.self.{name}")) for name in ("query", "key", "value")
            )
            heard = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)  # (B, T, D)
            x = self._norm(x + self._linear(heard, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            wide = F.gelu(self._linear(x, f"{at}.intermediate.dense"))
            x = self._norm(x + self._linear(wide, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return x, keep

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return F.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], self.epsilon)

    def _split(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, H, T, D / H)"""
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)
