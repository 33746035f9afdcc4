"""T5 as a listener: an encoder-decoder with relative positions (Raffel et al. 2020), as LEMPEx builds upon it (section 3.2).

    paper         here                     shape       equation
    E_W, E_S      embedding, speakers      (V, D)      E(C) = E_W(C) + E_S(C)
    Z             state.memory             (B, S, D)   (1)
    R~            hidden()                 (B, T, D)   (2), before the output layer
    P_resp        output                   (B, T, V)   (2)

The layers are those of transformers. From scratch over words it is the paper's T5-GloVe: 6 layers, 6 heads of 50, 2,048 inner
units, and one table for words and output, as its 27.57M parameters say. With `folder` it begins as the T5 of a Hugging Face
directory, T5-PT, whose sizes and tokens take the place of these.

Where we differ from transformers: a table that serves words and output is kept divided by sqrt(D) and multiplied where it is
read, as in the other models here, instead of dividing the decoder's states. It is the same function, and Adam, whose steps do
not know the scale, learns it in fewer of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from harken.errors import HarkenError
from harken.models.contract import Generator, State, shifted
from harken.models.layers import Dropout, Embedding, KeyValue, Shape, xavier
from harken.models.losses import Term
from harken.models.stacks import LayerCache, extended
from harken.text.batches import Batch
from harken.text.pieces import Pieces
from harken.text.vocabulary import CLS, USR, TextConfig, Vocabulary


@dataclass(frozen=True, kw_only=True)
class T5Config(Shape):
    """LEMPEx's T5-GloVe by default."""

    d_model: int = 300
    n_heads: int = 6
    depth: int | None = 300
    feed_forward: Literal["conv", "relu", "gelu"] = "relu"
    d_inner: int = 2_048
    dropout: float = 0.1
    project: bool = False
    encoder_layers: int = 6
    decoder_layers: int = 6
    gated: bool = False
    """Gate the feed-forward, as T5 1.1 and its kin do."""
    tied: bool = True
    """One table for words and output; T5 1.1 has two."""
    buckets: int = 32
    """Kinds of distance that attention tells apart."""
    max_distance: int = 128
    """Where the last of them begins."""
    folder: Path | None = None
    """A Hugging Face directory with a T5 to begin with; its sizes replace those above."""

    def __post_init__(self) -> None:
        for name, value in _sizes(_about(self.folder)).items():
            object.__setattr__(self, name, value)

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        yield from super().problems()
        for name in ("encoder_layers", "decoder_layers", "buckets", "max_distance"):
            if getattr(self, name) < 1:
                yield f"{name} = {getattr(self, name)} must be at least 1"
        if self.feed_forward == "conv" or self.project:
            yield "T5 has no convolutions and no projection; set feed_forward to relu or gelu and project to false"
        about = _about(self.folder)
        if about and about.get("model_type") != "t5":
            yield f"folder = {self.folder} holds a {about.get('model_type')}, not a T5; name the folder of a T5"
        elif about and not about.get("is_encoder_decoder", True):
            yield f"folder = {self.folder} holds the encoder of a T5 alone; name the folder of a whole one"
        elif about and about.get("feed_forward_proj", "relu") not in {"relu", "gated-gelu"}:
            yield f"folder = {self.folder} has the unknown feed_forward_proj '{about['feed_forward_proj']}'"

    def wants(self, text: TextConfig) -> Iterator[str]:
        """What the text must have for this network."""
        if self.folder is not None and text.kind != "pretrained":
            yield (
                f"network.folder reads with its own tokens; set text.kind=pretrained and text.tokenizer={self.folder}"
            )


def _about(folder: Path | None) -> dict[str, Any]:
    """The folder's `config.json`, or nothing: a trained run needs its folder no more, and training says what is missing."""
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8")) if folder else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _sizes(about: dict[str, Any]) -> dict[str, Any]:
    """Our names for the sizes of a T5, where it is one."""
    if about.get("model_type") != "t5" or not {"d_model", "num_heads", "d_kv", "d_ff", "num_layers"} <= about.keys():
        return {}
    *gate, activation = str(about.get("feed_forward_proj", "relu")).split("-")
    return {
        "d_model": about["d_model"],
        "n_heads": about["num_heads"],
        "depth": about["num_heads"] * about["d_kv"],
        "d_inner": about["d_ff"],
        "encoder_layers": about["num_layers"],
        "decoder_layers": about.get("num_decoder_layers") or about["num_layers"],
        "feed_forward": activation,
        "gated": gate == ["gated"],
        "tied": about.get("scale_decoder_outputs", about.get("tie_word_embeddings", True)),
        "buckets": about.get("relative_attention_num_buckets", 32),
        "max_distance": about.get("relative_attention_max_distance", 128),
        "project": False,
    }


class Output(nn.Linear):
    """An output layer without a bias of its own: zeros stand there, which are no parameters."""

    def __init__(self, d_model: int, n_tokens: int) -> None:
        super().__init__(d_model, n_tokens, bias=False)
        del self._parameters["bias"]
        self.register_buffer("bias", torch.zeros(n_tokens), persistent=False)


class T5(Generator):
    """Encoder, decoder, output layer."""

    config: T5Config

    def __init__(self, config: T5Config, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.embedding = Embedding(self.n_tokens, config.d_model, tied=config.tied)
        self.speakers = nn.Embedding(1 + CLS - USR, config.d_model)
        self.encoder = stack(config, config.encoder_layers)
        self.decoder = stack(config, config.decoder_layers, decoder=True)
        self.output = Output(config.d_model, self.n_tokens)
        xavier(self.output)
        if config.tied:
            self.output.weight = self.embedding.weight

    def begin(self, vocabulary: Vocabulary) -> str | None:
        """Begin with the weights of the config's folder; tokens it lacks start as its start token, speakers as nothing."""
        if self.config.folder is None:
            return None
        if not isinstance(vocabulary, Pieces):
            raise HarkenError("; ".join(self.config.wants(TextConfig())))
        whole = _read(self.config.folder)
        rows = torch.tensor(vocabulary.rows)
        if int(rows.max()) >= whole.shared.num_embeddings:
            raise HarkenError(
                f"{self.config.folder}: has {whole.shared.num_embeddings:,} rows and the tokeniser more tokens; "
                "take text.tokenizer from the same folder"
            )
        for own, other in ((self.encoder, whole.encoder), (self.decoder, whole.decoder)):
            weights = other.state_dict()
            own.load_state_dict({name: tensor for name, tensor in weights.items() if "embed_tokens" not in name})
        self.embedding.weight.data.copy_(whole.shared.weight[rows] * self.config.d_model**-0.5)
        if not self.config.tied:
            self.output.weight.data.copy_(whole.lm_head.weight[rows])
        nn.init.zeros_(self.speakers.weight)
        return f"began with the T5 in {self.config.folder}"

    def context_embeddings(self, batch: Batch) -> Tensor:
        """E(C) = E_W(C) + E_S(C), (B, S, D)."""
        embeddings: Tensor = self.embedding(batch.context) + self.speakers((batch.roles - USR).clamp(min=0))
        return embeddings

    def encode(self, batch: Batch, *, oracle: bool = False) -> State:
        """Read the contexts."""
        memory = read(self.encoder, self.context_embeddings(batch), batch.pad)  # (1)
        return State(memory, batch.pad, [])

    def hidden(self, batch: Batch, state: State) -> Tensor:
        """R~, the decoder's states for the whole response, (B, T, D)."""
        states: Tensor = self.decoder(
            inputs_embeds=self.embedding(shifted(batch.target)),
            encoder_hidden_states=state.memory,
            encoder_attention_mask=(~state.pad).long(),
            use_cache=False,
        ).last_hidden_state  # (2)
        return states

    def hidden_step(self, tokens: Tensor, state: State) -> Tensor:
        """The decoder's state after one more token, (B,) -> (B, D)."""
        blocks = self.decoder.block
        if not state.caches:
            state.caches = [LayerCache(_keys_and_values(b.layer[1].EncDecAttention, state.memory)) for b in blocks]
        length = state.length + 1
        bias = blocks[0].layer[0].SelfAttention.compute_bias(length, length)[:, :, -1:]  # (1, H, 1, t)
        x: Tensor = self.embedding(tokens.unsqueeze(1))  # (B, 1, D)
        for block, cache in zip(blocks, state.caches, strict=True):
            own, cross, feed_forward = block.layer
            h = own.layer_norm(x)
            cache.own = extended(cache.own, _keys_and_values(own.SelfAttention, h))
            x = x + _attended(own.SelfAttention, h, cache.own, bias)
            x = x + _attended(cross.EncDecAttention, cross.layer_norm(x), cache.memory, state.mask)
            x = feed_forward(x)
        state.length = length
        last: Tensor = self.decoder.final_layer_norm(x)
        return last.squeeze(1)

    def losses(self, batch: Batch) -> dict[str, Term]:
        """The loss of the words."""
        return self.response_terms(batch, self.hidden(batch, self.encode(batch)))


def stack(config: T5Config, layers: int, *, decoder: bool = False) -> Any:
    """The layers of transformers' T5, without a word table; their dropout is the quick one."""
    from transformers import T5Config as Settings
    from transformers.models.t5.modeling_t5 import T5Stack

    settings = Settings(
        vocab_size=2,
        d_model=config.d_model,
        d_kv=(config.depth or config.d_model) // config.n_heads,
        d_ff=config.d_inner,
        num_layers=layers,
        num_heads=config.n_heads,
        relative_attention_num_buckets=config.buckets,
        relative_attention_max_distance=config.max_distance,
        dropout_rate=config.dropout,
        feed_forward_proj=f"gated-{config.feed_forward}" if config.gated else config.feed_forward,
        is_decoder=decoder,
        is_encoder_decoder=False,
        use_cache=False,
    )
    made: Any = T5Stack(settings)  # type: ignore[no-untyped-call]
    made.embed_tokens = None
    for part in list(made.modules()):
        for name, child in part.named_children():
            if isinstance(child, nn.Dropout):
                setattr(part, name, Dropout(child.p))
    return made


def read(encoder: Any, x: Tensor, pad: Tensor) -> Tensor:
    """What an encoder makes of embeddings, (B, S, D), (B, S) -> (B, S, D)."""
    states: Tensor = encoder(inputs_embeds=x, attention_mask=(~pad).long()).last_hidden_state
    return states


def _split(x: Tensor, heads: int) -> Tensor:
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)  # (B, S, H·d) -> (B, H, S, d)


def _keys_and_values(attention: Any, x: Tensor) -> KeyValue:
    return _split(attention.k(x), attention.n_heads), _split(attention.v(x), attention.n_heads)


def _attended(attention: Any, x: Tensor, seen: KeyValue, mask: Tensor) -> Tensor:
    """T5's attention over what is kept: dot products are not scaled, distances add to them. (B, 1, D) -> (B, 1, D)"""
    query = _split(attention.q(x), attention.n_heads)
    found = F.scaled_dot_product_attention(query, *seen, attn_mask=mask, scale=1.0)  # (B, H, 1, d)
    mixed: Tensor = attention.o(found.transpose(1, 2).flatten(2))
    return mixed


def _read(folder: Path) -> Any:
    """The T5 of a folder, from the disk alone and whole."""
    from transformers import T5ForConditionalGeneration
    from transformers.utils import logging

    if not (folder / "config.json").is_file():
        raise HarkenError(f"{folder}: is no Hugging Face folder (there is no config.json); name that of a T5")
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    kind: Any = T5ForConditionalGeneration
    try:
        whole, about = kind.from_pretrained(
            folder, local_files_only=True, dtype=torch.float32, output_loading_info=True
        )
    except Exception as problem:  # whatever is wrong with the files, and transformers raises nearly everything
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise HarkenError(f"{folder}: cannot be read as a T5 ({reason})") from problem
    if about["missing_keys"]:
        raise HarkenError(f"{folder}: is not a whole T5, it lacks '{min(about['missing_keys'])}'")
    return whole
