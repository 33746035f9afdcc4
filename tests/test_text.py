"""Vocabularies, word vectors, batches."""

from __future__ import annotations

import gzip
import random
import zipfile
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harken.dialogue import ROLES, Dialogue, Turn, examples
from harken.errors import HarkenError
from harken.labels import EMOTIONS
from harken.text.batches import (
    NO_EMOTION,
    NO_LABEL,
    Encoded,
    collate,
    encode_context,
    encode_dialogues,
    encode_example,
    epoch_order,
    in_order_of_length,
)
from harken.text.bpe import BytePairs
from harken.text.vectors import read_vectors
from harken.text.vocabulary import (
    CLS,
    EOS,
    PAD,
    SPECIALS,
    SYS,
    UNK,
    USR,
    TextConfig,
    Words,
    build_vocabulary,
    load_vocabulary,
)

TALK = Dialogue(
    "d",
    (
        Turn("speaker", "My dog died."),
        Turn("listener", "I'm sorry!"),
        Turn("speaker", "Thanks."),
        Turn("listener", "How old was the dog?"),
    ),
    emotion="sad",
    situation="A beloved hound",
)
TEST = Dialogue("t", (Turn("speaker", "Zebra!"), Turn("listener", "Oh.")), split="test")


def test_a_vocabulary_is_of_training_text_unless_asked() -> None:
    honest = build_vocabulary([TALK, TEST], TextConfig(min_count=1))
    published = build_vocabulary([TALK, TEST], TextConfig(source="all"))
    assert "zebra" not in honest.tokens
    assert "hound" not in honest.tokens
    assert {"zebra", "hound"} <= set(published.tokens)


def test_rare_training_words_teach_the_unknown_word() -> None:
    """Only dog and the full stop come twice."""
    words = build_vocabulary([TALK], TextConfig())
    assert words.tokens[len(SPECIALS) :] == (".", "dog")
    assert words.encode("My dog.") == [UNK, words.tokens.index("dog"), words.tokens.index(".")]


def test_words_are_numbered_by_frequency_then_alphabet() -> None:
    words = Words.build(["b b a a c"])
    assert words.tokens == (*SPECIALS, "a", "b", "c")
    assert words.decode([7, EOS, UNK, 9, PAD]) == "a [UNK] c"


@pytest.mark.parametrize("kind", ["words", "bpe"])
def test_a_vocabulary_comes_back_from_its_folder(kind: str, tmp_path: Path) -> None:
    config = TextConfig(kind=kind, bpe_size=300, min_count=1)  # type: ignore[arg-type]
    before = build_vocabulary([TALK], config)
    before.save(tmp_path)
    after = load_vocabulary(tmp_path)
    assert after.tokens == before.tokens
    assert after.encode("My zebra died.") == before.encode("My zebra died.")


def test_a_foreign_vocabulary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match="not a finished run"):
        load_vocabulary(tmp_path)
    (tmp_path / "vocabulary.json").write_text('{"kind": "runes"}')
    with pytest.raises(HarkenError, match="unknown kind 'runes'"):
        load_vocabulary(tmp_path)
    (tmp_path / "vocabulary.json").write_text("[")
    with pytest.raises(HarkenError, match="not a vocabulary"):
        load_vocabulary(tmp_path)


@given(st.text(max_size=40))
@settings(max_examples=60, deadline=None)
def test_byte_pairs_lose_nothing(text: str) -> None:
    pairs = BytePairs.train(["the dog and the cat", "ça va?"], 300)
    ids = pairs.encode(text)
    assert min(ids, default=99) >= len(SPECIALS)
    assert pairs.decode([*ids, EOS, PAD]) == text.strip().encode("utf-8", "replace").decode()


def test_gpt2_style_files_are_read(tmp_path: Path) -> None:
    trained = BytePairs.train(["the dog and the cat"] * 3, 290)
    trained.tokenizer.model.save(str(tmp_path))
    again = BytePairs.read(tmp_path)
    assert again.tokens == trained.tokens
    assert again.encode("the dog") == trained.encode("the dog")
    with pytest.raises(HarkenError, match=r"vocab\.json"):
        BytePairs.read(tmp_path / "merges.txt")


def test_the_byte_pairs_of_a_run_are_read(tmp_path: Path) -> None:
    trained = BytePairs.train(["the dog and the cat"] * 3, 290)
    trained.save(tmp_path)
    assert BytePairs.read(tmp_path).tokens == trained.tokens
    Words(["dog"]).save(tmp_path)
    with pytest.raises(HarkenError, match="a run with byte pairs"):
        BytePairs.read(tmp_path)


def words_of_talk() -> Words:
    return Words.build([turn.text for turn in TALK.turns])


def test_a_context_is_one_sequence_with_roles() -> None:
    words = words_of_talk()
    second = list(examples(TALK))[1]
    row = encode_example(second, words, TextConfig())
    assert words.decode(row.context) == "my dog died . i am sorry ! thanks ."
    assert row.context[0] == CLS
    assert row.roles == [CLS] + [USR] * 4 + [SYS] * 4 + [USR] * 2
    assert words.decode(row.target) == "how old was the dog ?"
    assert row.target[-1] == EOS
    assert EMOTIONS[row.emotion] == "sad"
    assert row.feedback == [], "nothing follows the last turn"
    assert words.decode(encode_example(next(examples(TALK)), words, TextConfig()).feedback) == "thanks ."


def test_the_speakers_turns_are_examples_when_asked() -> None:
    words = words_of_talk()
    both = encode_dialogues([TALK], words, TextConfig(), roles=ROLES)
    assert [words.decode(row.target) for row in both] == ["i am sorry !", "thanks .", "how old was the dog ?"]
    assert len(encode_dialogues([TALK], words, TextConfig())) == 2


def test_a_long_context_keeps_its_end() -> None:
    words = words_of_talk()
    tokens, roles, _ = encode_context(TALK.turns[:3], words, 5)
    assert words.decode(tokens) == "sorry ! thanks ."
    assert roles == [CLS, SYS, SYS, USR, USR]
    assert encode_context((), words, 5) == ([CLS], [CLS], [NO_LABEL])


def test_a_batch_pads_on_the_right() -> None:
    batch = collate([Encoded([CLS, 9], [CLS, USR], [8, EOS], [], 3), Encoded([CLS], [CLS], [EOS], [7, 8], NO_EMOTION)])
    assert batch.context.tolist() == [[CLS, 9], [CLS, PAD]]
    assert batch.pad.tolist() == [[False, False], [False, True]]
    assert batch.target_pad.tolist() == [[False, False], [False, True]]
    assert batch.feedback_pad.tolist() == [[True, True], [False, False]]
    assert batch.emotion.tolist() == [3, NO_EMOTION]


def rows(lengths: list[int]) -> list[Encoded]:
    return [Encoded([CLS] * n, [CLS] * n, [EOS], [], 0) for n in lengths]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=90), st.integers(1, 8), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_an_epoch_takes_every_row_once_and_can_be_repeated(lengths: list[int], size: int, epoch: int) -> None:
    order = epoch_order(rows(lengths), size, seed=1, epoch=epoch)
    assert sorted(i for batch in order for i in batch) == list(range(len(lengths)))
    assert order == epoch_order(rows(lengths), size, seed=1, epoch=epoch)


def test_batches_are_of_like_length_and_epochs_differ() -> None:
    lengths = torch.randint(1, 200, (800,), generator=torch.Generator().manual_seed(1)).tolist()
    order = epoch_order(rows(lengths), 16, seed=1, epoch=0)
    padding = sum(max(lengths[i] for i in batch) * len(batch) - sum(lengths[i] for i in batch) for batch in order)
    assert padding / sum(lengths) < 0.03
    assert order != epoch_order(rows(lengths), 16, seed=1, epoch=1)
    assert order != epoch_order(rows(lengths), 16, seed=2, epoch=0)


def test_neither_contexts_nor_targets_waste_much_on_padding() -> None:
    draw = random.Random(3)
    pairs = [(1 + int(draw.gammavariate(3, 12)), 1 + int(draw.gammavariate(3, 4.5))) for _ in range(12_800)]
    made = [Encoded([CLS] * s, [CLS] * s, [EOS] * t, [], 0) for s, t in pairs]
    order = epoch_order(made, 64, seed=1, epoch=0)
    for side, most in ((0, 1.25), (1, 1.35)):
        padded = sum(len(batch) * max(pairs[i][side] for i in batch) for batch in order)
        assert padded < most * sum(pair[side] for pair in pairs)


def test_scoring_order_covers_every_row() -> None:
    seen = [i for chosen, _ in in_order_of_length(rows([5, 1, 3, 2]), 3) for i in chosen]
    assert seen == [1, 3, 2, 0]


VECTORS = "dog 1 0 -2.5\nzebra 9 9 9\n. . 7 7 7\nthe .5 .5 .5\n"


@pytest.mark.parametrize("ending", [".txt", ".gz", ".zip"])
@pytest.mark.parametrize("header", ["", "4 3\n"])
def test_vectors_of_the_needed_words(ending: str, header: str, tmp_path: Path) -> None:
    """GloVe has no first line, fastText has; a word of GloVe may hold a space."""
    path = tmp_path / f"vectors.3d{ending}"
    text = (header + VECTORS).encode()
    if ending == ".gz":
        path.write_bytes(gzip.compress(text))
    elif ending == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("vectors.3d.txt", text)
            archive.writestr("vectors.9d.txt", "dog" + " 1" * 9)
    else:
        path.write_bytes(text)
    words = words_of_talk()
    found = read_vectors(path, words, 3)
    assert {words.tokens[i]: row for i, row in zip(found.ids.tolist(), found.rows.tolist(), strict=True)} == {
        "dog": [1, 0, -2.5],
        "the": [0.5, 0.5, 0.5],
    }
    assert str(found) == f"vectors for 2 of {len(words) - 7} words ({2 / (len(words) - 7):.1%})"


@pytest.mark.parametrize(
    ("content", "width", "message"),
    [
        (VECTORS, 5, r":1: a vector of 3 numbers, and the model wants 5"),
        (VECTORS, 2, r":1: a vector of 3 numbers, and the model wants 2"),
        ("dog 1 x 2\n", 3, r":1: the vector of 'dog' is not all numbers"),
        ("zebra 1 1 1\nthe 1 1\n", 3, r":2: a vector of 2 numbers"),
    ],
)
def test_unusable_vector_files(content: str, width: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(content)
    with pytest.raises(HarkenError, match=message):
        read_vectors(path, words_of_talk(), width)


def test_missing_and_damaged_vector_files(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match="no such vector file"):
        read_vectors(tmp_path / "none.txt", words_of_talk(), 3)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(VECTORS.encode())[:-12])
    with pytest.raises(HarkenError, match="damaged"):
        read_vectors(cut, words_of_talk(), 3)
    (tmp_path / "no.zip").write_text("no zip")
    with pytest.raises(HarkenError, match=r"not a \.zip"):
        read_vectors(tmp_path / "no.zip", words_of_talk(), 3)


def test_the_real_vectors_cover_the_benchmarks_words(shared_data: Path) -> None:
    found = read_vectors(shared_data / "vectors" / "glove.6B.300d.3151words.txt", Words(["i", "sorry", "qwertz"]), 300)
    assert found.ids.tolist() == [7, 8]
