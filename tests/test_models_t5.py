"""T5 inside the contract: the paper's sizes, transformers' own numbers, and folders that are none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from harken.corpora import store
from harken.decoding import DecodingConfig
from harken.decoding.replies import answer
from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError
from harken.models.contract import shifted
from harken.models.t5 import T5, T5Config
from harken.text.batches import Batch, collate, encode_dialogues
from harken.text.pieces import Pieces
from harken.text.vocabulary import EOS, PAD, SOS, SPECIALS, SYS, UNK, TextConfig, Words, load_vocabulary
from harken.training.config import build_config, load_config
from harken.training.loop import train
from harken.training.run import load_run
from retrieval_parts import bert_folder

CONFIGS = Path(__file__).parents[1] / "configs"
SMALL: dict[str, Any] = {
    "d_model": 16, "n_heads": 2, "depth": 12, "d_inner": 24, "encoder_layers": 2, "decoder_layers": 2
}  # fmt: skip
SAID = (
    ("my old dog died last week", "oh no i am so sorry", "thank you she was twelve", "that is a long life together"),
    ("i got the job today", "well done when do you start"),
    ("there was a noise downstairs", "did you look what it was"),
)
TALKS = [
    Dialogue(f"{split}{i}", tuple(Turn("listener" if k % 2 else "speaker", text) for k, text in enumerate(said)), split=split)
    for split in ("train", "valid")
    for i, said in enumerate(SAID)
]  # fmt: skip


def t5_folder(folder: Path, *, new: bool = False) -> Path:
    """A small random T5 as transformers saves it, with a tokeniser trained here; `new` is of the kind of T5 1.1."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, T5ForConditionalGeneration
    from transformers import T5Config as Settings

    torch.manual_seed(4)
    names = ["<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(
        (text for said in SAID for text in said), trainers.BpeTrainer(vocab_size=90, special_tokens=names, show_progress=False)
    )  # fmt: skip
    fast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    kind: Any = Settings
    settings = kind(
        vocab_size=96,  # as in the real ones, more rows than tokens
        d_model=16,
        d_kv=6,
        d_ff=24,
        num_layers=2,
        num_decoder_layers=3,
        num_heads=2,
        feed_forward_proj="gated-gelu" if new else "relu",
        tie_word_embeddings=not new,
    )
    T5ForConditionalGeneration(settings).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def batch_of(vocabulary: Words | Pieces) -> Batch:
    return collate(encode_dialogues(TALKS[:3], vocabulary, TextConfig()))


@pytest.fixture(scope="module")
def words() -> Words:
    return Words.build(text for said in SAID for text in said)


def test_the_papers_parameters() -> None:
    """Table 2: 27.57M with 21,132 words, so words and output share a table; three speakers' vectors come to them."""
    with torch.device("meta"):
        model = T5(T5Config(), Words([f"w{i}" for i in range(21_132 - len(SPECIALS))]))
    layer = 4 * 300 * 300 + 2 * 300 * 2_048
    stacks = 6 * (layer + 600) + 6 * (layer + 4 * 300 * 300 + 900) + 2 * (300 + 32 * 6)
    count = sum(p.numel() for p in model.parameters())
    assert count == 21_132 * 300 + 3 * 300 + stacks
    assert int(count / 1e4) == 2_757


def test_words_and_speakers_add_up(words: Words) -> None:
    """E(C) = E_W(C) + E_S(C): of `my` the row of the word and the row of who says it."""
    model, batch = T5(T5Config(**SMALL), words), batch_of(words)
    found = model.context_embeddings(batch)
    my, user = 4 * model.embedding.weight[words.index["my"]], model.speakers.weight[0]  # sqrt(16)
    assert torch.equal(found[0, 1], my + user)
    place = int((batch.roles[1] == SYS).nonzero()[0])
    word = words.index["oh"]
    assert int(batch.context[1, place]) == word
    assert torch.equal(found[1, place], 4 * model.embedding.weight[word] + model.speakers.weight[1])


@pytest.mark.parametrize("new", [False, True], ids=["t5", "t5 1.1"])
def test_a_folder_gives_transformers_own_numbers(tmp_path: Path, new: bool) -> None:
    """At the start speakers are nothing, so logits are those of the T5 in the folder; step by step as well."""
    from transformers import T5ForConditionalGeneration

    folder = t5_folder(tmp_path / "t5", new=new)
    pieces = Pieces.read(folder)
    config = T5Config(folder=folder)
    assert (config.d_model, config.n_heads, config.depth, config.decoder_layers) == (16, 2, 12, 3)
    assert (config.feed_forward, config.gated, config.tied) == (("gelu", True, False) if new else ("relu", False, True))
    model = T5(config, pieces)
    assert model.begin(pieces) == f"began with the T5 in {folder}"
    model.eval()
    whole: Any = T5ForConditionalGeneration.from_pretrained(folder)
    whole.eval()
    batch, rows = batch_of(pieces), torch.tensor(pieces.rows)
    with torch.inference_mode():
        theirs = whole(
            input_ids=rows[batch.context],
            attention_mask=(~batch.pad).long(),
            decoder_input_ids=rows[shifted(batch.target)],
        ).logits[..., rows]
        ours = model.output(model.hidden(batch, model.encode(batch)))
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)
        state, tokens = model.encode(batch), torch.full((len(batch),), SOS)
        for position in range(batch.target.shape[1]):
            torch.testing.assert_close(model.step(tokens, state), theirs[:, position], atol=1e-5, rtol=1e-4)
            tokens = batch.target[:, position]


def test_pieces_keep_their_rows(tmp_path: Path) -> None:
    folder = t5_folder(tmp_path / "t5")
    pieces = Pieces.read(folder)
    assert pieces.tokens[: len(SPECIALS)] == SPECIALS
    assert "</s>" not in pieces.tokens
    assert [pieces.rows[i] for i in (PAD, UNK, EOS, SOS)] == [0, 2, 1, 0]
    ids = pieces.encode(" oh no i am so sorry ")
    assert min(ids) >= len(SPECIALS)
    assert pieces.decode([SOS, *ids, EOS]) == "oh no i am so sorry"
    assert EOS not in pieces.encode("oh </s> no")
    pieces.save(tmp_path)
    again = load_vocabulary(tmp_path)
    assert isinstance(again, Pieces)
    assert (again.tokens, again.rows, again.encode("so sorry")) == (
        pieces.tokens,
        pieces.rows,
        pieces.encode("so sorry"),
    )


def pretrained(folder: Path, **training: Any) -> dict[str, Any]:
    return {
        "model": "t5",
        "network": {"folder": str(folder)},
        "corpus": "three",
        "text": {"kind": "pretrained", "tokenizer": str(folder)},
        "training": {"schedule": "constant", "learning_rate": 0.01, "warmup": 1, "batch_size": 2} | training,
    }


@pytest.mark.slow
def test_a_trained_run_needs_its_folder_no_more(home: Path, tmp_path: Path) -> None:
    store.save("three", TALKS, title="", citation="", licence="", origin="here")
    folder = t5_folder(tmp_path / "t5")
    train(build_config(pretrained(folder, max_steps=4, validate_every=2)), tmp_path / "run")
    log = (tmp_path / "run" / "log.jsonl").read_text(encoding="utf-8")
    assert "began with the T5" in log
    shutil.rmtree(folder)
    run = load_run(tmp_path / "run")
    assert run.config.network.d_model == 16
    rows = encode_dialogues(TALKS[:1], run.vocabulary, run.config.text)
    found = answer(run.generator, run.vocabulary, rows, DecodingConfig(max_length=4, beam=2))
    assert all(one.texts[0] for one in found)


def test_folders_that_are_no_t5(home: Path, tmp_path: Path) -> None:
    store.save("three", TALKS, title="", citation="", licence="", origin="here")
    with pytest.raises(HarkenError, match="holds a bert, not a T5"):
        build_config(pretrained(bert_folder(tmp_path / "bert")))
    folder = t5_folder(tmp_path / "t5")
    about = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for changes, message in (
        ({"is_encoder_decoder": False}, "the encoder of a T5 alone"),
        ({"feed_forward_proj": "gated-silu"}, "unknown feed_forward_proj 'gated-silu'"),
    ):
        (folder / "config.json").write_text(json.dumps(about | changes), encoding="utf-8")
        with pytest.raises(HarkenError, match=message):
            build_config(pretrained(folder))
    (folder / "config.json").write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(HarkenError, match="there is no such folder"):
        train(build_config(pretrained(tmp_path / "nowhere")), tmp_path / "run")
    (folder / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(HarkenError, match="cannot be read as a T5"):
        train(build_config(pretrained(folder)), tmp_path / "run")


def test_a_part_of_a_t5_is_not_a_t5(tmp_path: Path) -> None:
    """An encoder saved alone, whose config claims to be whole."""
    from transformers import T5EncoderModel

    folder = t5_folder(tmp_path / "t5")
    about = (folder / "config.json").read_text(encoding="utf-8")
    T5EncoderModel.from_pretrained(folder).save_pretrained(folder)
    (folder / "config.json").write_text(about, encoding="utf-8")
    pieces = Pieces.read(folder)
    with pytest.raises(HarkenError, match="is not a whole T5, it lacks 'decoder"):
        T5(T5Config(folder=folder), pieces).begin(pieces)


def test_tokens_and_folder_must_fit(tmp_path: Path, words: Words) -> None:
    folder = t5_folder(tmp_path / "t5")
    with pytest.raises(HarkenError, match=r"network\.folder reads with its own tokens; set text\.kind=pretrained"):
        load_config(CONFIGS / "t5-glove.yaml", [f"network.folder={folder}"])
    with pytest.raises(HarkenError, match=r"set text\.kind=pretrained"):
        T5(T5Config(folder=folder), words).begin(words)
    with pytest.raises(HarkenError, match="tokenizer, the folder of its tokens, need each other"):
        load_config(CONFIGS / "t5-pretrained.yaml", ["text.tokenizer=null"])
    with pytest.raises(HarkenError, match="no convolutions"):
        load_config(CONFIGS / "t5-glove.yaml", ["network.feed_forward=conv"])
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(HarkenError, match="has no tokeniser that can be read"):
        Pieces.read(empty)
