"""Reply files made from the starter corpus, for the tests of `harken compare`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from harken.corpora import library
from harken.dialogue import Example, examples
from harken.labels import EMOTIONS
from harken.scoring.replies import ReplyRecord, write_replies

Answer = Callable[[int, Example], str]


@cache
def starter() -> tuple[Example, ...]:
    """Every listener turn of the starter corpus that has an emotion, about five thousand."""
    found = (example for dialogue in library.iterate("starter") for example in examples(dialogue))
    return tuple(example for example in found if example.emotion is not None)


def near(place: int, example: Example) -> str:
    """What a listener said three turns further on in the corpus: on the topic, seldom the response."""
    return starter()[(place + 3) % len(starter())].response.text


def blunt(place: int, example: Example) -> str:
    """One of three phrases."""
    return ("I am sorry to hear that.", "That is great news!", "What happened next?")[place % 3]


def half(place: int, example: Example) -> str:
    """The first half of the response: better than any real system."""
    words = example.response.text.split()
    return " ".join(words[: max(1, len(words) // 2)])


def records(answer: Answer, n: int | None = 160, run: str | None = None) -> list[ReplyRecord]:
    """The answers to some examples spread over the corpus, all of them if n is None."""
    chosen = starter() if n is None else starter()[:: len(starter()) // n][:n]
    order = [*EMOTIONS, *EMOTIONS]
    return [
        ReplyRecord(
            id=example.id,
            context=tuple(turn.text for turn in example.context),
            response=example.response.text,
            reply=answer(place, example),
            emotion=example.emotion,
            predicted_emotion=tuple(order[place % 32 : place % 32 + 5]),
            run=run,
        )
        for place, example in enumerate(chosen)
    ]


def write(path: Path, answer: Answer, n: int | None = 160) -> Path:
    """A reply file of those answers."""
    write_replies(path, records(answer, n))
    return path


def write_run(folder: Path, answer: Answer, n: int = 160, *, perplexity: float = 40.0) -> Path:
    """A run folder with replies, metrics and emotion vectors, as training leaves it."""
    folder.mkdir()
    write(folder / "replies-test.jsonl", answer, n)
    part = {"perplexity": perplexity, "perplexity_utterance_mean": perplexity + 3, "responses": n, "emotion_top2": 0.5}
    metrics = {
        "parameters": 17_800_000,
        "vocabulary": 23_712,
        "test": part,
        "test_oracle": {**part, "perplexity": 35.0},
    }
    (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    # Two blobs: the vector of a positive emotion begins with 1, of a negative one with -1, and each has its own twist.
    vectors = [[side(name), place % 5 / 10, place % 3 / 10] for place, name in enumerate(EMOTIONS)]
    (folder / "emotions.json").write_text(json.dumps({"emotions": EMOTIONS, "vectors": vectors}), encoding="utf-8")
    return folder


def side(name: str) -> float:
    from harken.labels import POSITIVE

    return 1.0 if name in POSITIVE else -1.0


def change(path: Path, line: int, **fields: object) -> None:
    """Change some fields of one line (from 1) of a reply file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[line - 1] = json.dumps(json.loads(lines[line - 1]) | fields)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def reorder(path: Path, order: Sequence[int]) -> None:
    """Put the lines of a file into another order, or leave some out."""
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(lines[place] + "\n" for place in order), encoding="utf-8")
