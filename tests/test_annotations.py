"""What files say about examples is attached by id; what does not fit is refused in one sentence."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from harken.dialogue import Dialogue, Example, Levels, Turn, examples
from harken.errors import HarkenError
from harken.exemplar_files import Filter, Guidance, Header, write_exemplars
from harken.label_files import Header as LabelHeader
from harken.label_files import LabelledText, Made, write_labels
from harken.labels import LABELS
from harken.text.annotations import ExemplarsConfig, TurnLabelsConfig, annotator, guided_by
from harken.text.batches import NO_LABEL, NO_LEVEL, collate, encode_example
from harken.text.vocabulary import CLS, TextConfig, Words

TALK = Dialogue(
    "d", (Turn("speaker", "my dog died"), Turn("listener", "oh no"), Turn("speaker", "yes"), Turn("listener", "sorry"))
)
WORDS = Words(["my", "dog", "died", "oh", "no", "yes", "sorry"])


def exemplar_file(path: Path, *, q: int = 2, emotions: Filter = "predicted", corpus: str = "abc") -> Path:
    header = Header(
        index="i", corpus="own", corpus_sha256=corpus, split="train", filter=emotions, emotions=None, q=q, note=""
    )
    found = [Guidance("d:1", "sad", ("oh sorry", "no no"), (0.9, 0.5)), Guidance("d:3", "sad", ("sorry",), (0.25,))]
    write_exemplars(path, header, found)
    return path


def level_files(folder: Path) -> tuple[Path, Path]:
    scale = ("no", "weak", "strong")
    made = {f"empathy-{name}": Made("h", scale) for name in ("emotional", "interpretation", "exploration")}
    first = {"emotional": "strong", "interpretation": "no", "exploration": "weak"}
    records = [
        LabelledText("d:1", "oh no", {f"empathy-{name}": {level: 0.9} for name, level in first.items()}),
        LabelledText("d:3", "sorry", {task: {"no": 0.9} for task in made}),
    ]
    write_labels(folder / "empathy.jsonl", LabelHeader("reply", made, "t", 1), records)
    feelings = {"sentiment": Made("v", ("negative", "neutral", "positive"))}
    moods = [
        LabelledText("d:1", "oh no", {"sentiment": {"negative": 1.0}}, {"compound": -0.5}),
        LabelledText("d:3", "sorry", {"sentiment": {"negative": 1.0}}, {"compound": -0.25}),
    ]
    write_labels(folder / "sentiment.jsonl", LabelHeader("reply", feelings, "t", 1), moods)
    return folder / "empathy.jsonl", folder / "sentiment.jsonl"


def both(config: TextConfig) -> list[Example]:
    attach = annotator(config, "abc")
    assert attach is not None
    return [attach(example) for example in examples(TALK)]


def test_nothing_to_attach() -> None:
    assert annotator(TextConfig()) is None


def test_exemplars_by_id_and_as_tensors(tmp_path: Path) -> None:
    config = TextConfig(exemplars=ExemplarsConfig(files=(exemplar_file(tmp_path / "e.jsonl"),), q=2))
    first, second = both(config)
    assert first.exemplars == (("oh sorry", 0.9), ("no no", 0.5))
    batch = collate([encode_example(one, WORDS, config) for one in (first, second)])
    oh, no, sorry = (WORDS.index[word] for word in ("oh", "no", "sorry"))
    assert batch.exemplars.tolist() == [[[oh, sorry], [no, no]], [[sorry, 0], [0, 0]]]
    assert batch.exemplar_pad.tolist() == [[[False, False], [False, False]], [[False, True], [True, True]]]
    assert batch.relevance.tolist() == [pytest.approx([0.9, 0.5]), [0.25, 0.0]]
    one = TextConfig(exemplars=ExemplarsConfig(files=(tmp_path / "e.jsonl",), q=1))
    assert both(one)[0].exemplars == (("oh sorry", 0.9),)


def test_other_exemplars_for_a_trained_run(tmp_path: Path) -> None:
    config = TextConfig(exemplars=ExemplarsConfig(files=(tmp_path / "lost.jsonl",), q=1, filter="gold"))
    guided = guided_by(config, exemplar_file(tmp_path / "e.jsonl"))
    assert both(guided)[0].exemplars == (("oh sorry", 0.9),)
    with pytest.raises(HarkenError, match="not guided by exemplars"):
        guided_by(TextConfig(), tmp_path / "e.jsonl")


def test_levels_and_sentiment(tmp_path: Path) -> None:
    config = TextConfig(levels=level_files(tmp_path))
    first, _ = both(config)
    assert first.levels == Levels(emotional=2, interpretation=0, exploration=1, sentiment=-0.5)
    bare = next(examples(TALK))
    batch = collate([encode_example(first, WORDS, config), encode_example(bare, WORDS, config)])
    assert batch.levels.tolist() == [[2, 0, 1], [NO_LEVEL] * 3]
    assert batch.sentiment[0].item() == -0.5
    assert math.isnan(batch.sentiment[1].item())


def test_every_turn_gets_its_label(tmp_path: Path) -> None:
    names = tuple(label.name for label in LABELS)
    said = ["sad", "sympathizing", "neutral", "consoling"]
    records = [LabelledText(f"d:{i}", "", {"intent": {name: 0.9}}) for i, name in enumerate(said)]
    write_labels(tmp_path / "t.jsonl", LabelHeader("turn", {"intent": Made("h", names)}, "t", 1), records)
    config = TextConfig(turn_labels=TurnLabelsConfig(labels=tmp_path / "t.jsonl"), history=2)
    attach = annotator(config)
    assert attach is not None
    last = attach(list(examples(TALK, 2))[1])
    assert [turn.label for turn in last.context] == ["sympathizing", "neutral"]
    row = encode_example(last, WORDS, config)
    assert row.context[0] == CLS
    assert row.labels == [NO_LABEL, *[names.index("sympathizing")] * 2, names.index("neutral")]
    assert row.label == names.index("consoling")


@pytest.mark.parametrize(
    ("made", "wanted", "message"),
    [
        ({"corpus": "other"}, {}, "is of the corpus own"),
        ({"q": 1}, {"q": 2}, "has 1 exemplars for each context, not 2"),
        ({"emotions": "gold"}, {}, "is filtered by 'gold' and the config says 'predicted'"),
    ],
)
def test_files_that_do_not_fit(
    made: dict[str, object], wanted: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = exemplar_file(tmp_path / "e.jsonl", **made)  # type: ignore[arg-type]
    config = TextConfig(exemplars=ExemplarsConfig(files=(path,), **{"q": 1} | wanted))  # type: ignore[arg-type]
    with pytest.raises(HarkenError, match=message):
        annotator(config, "abc")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    path = exemplar_file(tmp_path / "e.jsonl")
    attach = annotator(TextConfig(exemplars=ExemplarsConfig(files=(path,), q=1)))
    assert attach is not None
    with pytest.raises(HarkenError, match="no exemplars for 'x:1'"):
        attach(next(examples(Dialogue("x", TALK.turns))))
    empathy, _ = level_files(tmp_path)
    with pytest.raises(HarkenError, match="no labels of 'sentiment'; make them with: harken label"):
        annotator(TextConfig(levels=(empathy,)))
