"""Small rankers for the tests of retrieval: a transformer over a few words, and a pre-trained one that knows nothing."""

from __future__ import annotations

from pathlib import Path

import torch

from harken.retrieval.config import RankerConfig, RankerRunConfig, load_config
from harken.retrieval.rankers import PretrainedRanker, TransformerRanker
from harken.text.vocabulary import Words
from harken.training.session import StopRequested
from harken.training.watch import Figures, Progress

WORDS = "i lost my dog oh no that is sad won the race well done how did it go my cat died so sorry".split()


def small_transformer(**changes: object) -> TransformerRanker:
    torch.manual_seed(0)
    settings: dict[str, object] = {"kind": "transformer", "d_model": 12, "n_heads": 2, "n_layers": 1, "d_inner": 16}
    config = RankerConfig(**(settings | {"normalise": False, "scale": 1.0} | changes))  # type: ignore[arg-type]
    return TransformerRanker(config, Words(list(dict.fromkeys(WORDS))))


def bert_folder(folder: Path) -> Path:
    """A Hugging Face folder with a random BERT of one layer, written as transformers writes it."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    table = {word: number for number, word in enumerate([*specials, *dict.fromkeys(WORDS)])}
    tokenizer = Tokenizer(WordLevel(table, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=64,
    )
    config = BertConfig(
        vocab_size=len(table),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    fast.save_pretrained(folder)
    return folder


def small_bert(folder: Path, *, separate: bool = False, **changes: object) -> PretrainedRanker:
    config = RankerConfig(encoder=folder, separate=separate, **changes)  # type: ignore[arg-type]
    return PretrainedRanker(config, [folder] * (1 + separate))


CONFIG = """
model: ranker
corpora: [made]
network: {kind: transformer, d_model: 32, n_heads: 2, n_layers: 1, d_inner: 64, dropout: 0.1}
training: {schedule: linear, learning_rate: 0.005, warmup: 5, batch_size: 64, max_steps: 8, validate_every: 4,
           chunk: 32, kept: 2, validation_size: 100}
runtime: {threads: 1}
"""


def config(tmp_path: Path, *changes: str) -> RankerRunConfig:
    """A small run on the corpus `made`."""
    path = tmp_path / "ranker.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    return load_config(path, changes)


class Losses:
    """A watcher that keeps the losses, and asks to stop after a step as Ctrl-C does."""

    def __init__(self, stop: int = 99) -> None:
        self.stop, self.seen = stop, list[Figures]()

    def noted(self, line: str) -> None:
        pass

    def stepped(self, progress: Progress, figures: Figures) -> None:
        self.seen.append(figures)
        if progress.step == self.stop:
            raise StopRequested

    def validated(self, *_: object) -> None:
        pass
