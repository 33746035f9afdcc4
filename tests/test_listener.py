"""The built-in listener: follow-ups are follow-ups, good news gets no condolences, and the choice can be explained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError
from harken.labels import EMOTIONS, INTENTS, POSITIVE
from harken.listeners import Listener, load_listener
from harken.listeners.builtin import BuiltInListener, people
from harken.listeners.pool import build_pool, moment_vector, stems, thread_vector
from harken.text.encoder import SentenceEncoder

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("listener")]


@pytest.fixture(scope="module")
def listener() -> Listener:
    return load_listener()


def talk(listener: Listener, *said: str) -> list[str]:
    turns: list[Turn] = []
    for text in said:
        turns.append(Turn("speaker", text))
        turns.append(Turn("listener", listener.reply(turns).text))
    return [turn.text for turn in turns if turn.role == "listener"]


GOOD_NEWS = (
    "I got the job!", "We're having a baby!", "I passed my driving test this morning", "My team won the cup",
    "My daughter took her first steps today", "I won the lottery", "my son graduated with honours", "she said yes!",
    "the tests came back and I'm healthy", "we finally bought our first house",
)  # fmt: skip
BAD_NEWS = (
    "my cat died this morning", "my boyfriend broke up with me", "I failed my exam again", "I lost my job",
    "my grandmother has cancer", "nobody came to my birthday party", "my best friend stopped talking to me",
    "our house burned down", "someone stole my bike", "I can't pay my rent",
)  # fmt: skip


@pytest.mark.parametrize("said", GOOD_NEWS)
def test_good_news_never_gets_condolences(listener: Listener, said: str) -> None:
    reply = listener.reply([Turn("speaker", said)])
    assert "sorry" not in reply.text.lower(), reply.text
    assert reply.intent != "consoling", reply.text
    assert reply.emotion in (*POSITIVE, "anticipating", "sentimental"), reply.emotion


@pytest.mark.parametrize("said", BAD_NEWS)
def test_bad_news_never_gets_congratulations(listener: Listener, said: str) -> None:
    reply = listener.reply([Turn("speaker", said)])
    for word in ("congratulations", "wonderful", "brilliant", "happy for you", "lovely", "hooray"):
        assert word not in reply.text.lower(), reply.text
    assert reply.emotion not in POSITIVE, reply.emotion


def test_a_short_answer_is_heard_as_an_answer(listener: Listener) -> None:
    """'yes, last week' alone says nothing; after a death it must not be taken for something new."""
    turns = [
        Turn("speaker", "my grandfather died"),
        Turn("listener", "I'm so sorry. Was it recent?"),
        Turn("speaker", "yes, last week"),
    ]
    reply = listener.reply(turns)
    assert reply.emotion in ("sad", "devastated", "sentimental", "lonely"), reply
    alone = listener.reply(turns[-1:])
    assert reply.text != alone.text


def test_nothing_is_said_twice_in_a_conversation(listener: Listener) -> None:
    said = talk(listener, *["i feel sad"] * 8)
    assert len(set(said)) == len(said)


def test_it_does_not_ask_three_questions_in_a_row(listener: Listener) -> None:
    said = talk(listener, "I had a fight with my sister", "yesterday", "about money", "i don't know", "maybe", "yes")
    asks = ["?" in text for text in said]
    assert not any(all(asks[i : i + 3]) for i in range(len(asks) - 2)), said


@pytest.mark.parametrize(
    "said", ["hi", "thank you so much", "are you a robot?", "asdkjh", "🙂", "?", "x" * 5000, "no " * 3000]
)
def test_anything_gets_an_answer(listener: Listener, said: str) -> None:
    reply = listener.reply([Turn("speaker", said)])
    assert reply.text
    assert reply.intent in INTENTS


def test_a_reply_explains_itself(listener: Listener) -> None:
    reply = listener.reply([Turn("speaker", "I have an exam tomorrow and I can't sleep")])
    assert reply.emotion in (*EMOTIONS, "neutral")
    assert reply.exemplars[0].answered == reply.text
    assert np.isclose(sum(reply.scores.values()), reply.exemplars[0].score, atol=1e-4)
    assert reply.text not in reply.alternatives


def test_the_same_words_get_the_same_answer(listener: Listener) -> None:
    turns = [Turn("speaker", "my flight was cancelled and I'm stuck at the airport")]
    assert listener.reply(turns) == listener.reply(turns)


def test_a_listener_does_not_answer_itself(listener: Listener) -> None:
    with pytest.raises(HarkenError, match="ends with a turn of the speaker"):
        listener.reply([Turn("speaker", "hi"), Turn("listener", "hello")])
    with pytest.raises(HarkenError, match="ends with a turn of the speaker"):
        listener.reply([])


def small_pool() -> list[Dialogue]:
    """One story told by glad and by sorry people."""
    story = "the results of the test came today"
    glad = {
        "happy": "Hooray! What joy!",
        "thrilled": "Wonderful, congratulations!",
        "over the moon": "I'm so glad for you!",
    }
    sorry = {"sad": "I am sorry, it hurts.", "in tears": "Oh no, how painful.", "crushed": "I'm sorry, what a blow."}
    return [
        Dialogue(f"{emotion}-{i}", (Turn("speaker", f"{story} and I am {feeling}"), Turn("listener", answer)), emotion)
        for emotion, turns in (("joyful", glad), ("sad", sorry))
        for i, (feeling, answer) in enumerate(turns.items())
    ]


def test_the_mood_term_can_be_seen_at_work() -> None:
    """The same story told gladly and sadly: gladness must pick a glad turn, sorrow a sorry one."""
    encoder = SentenceEncoder()
    small = BuiltInListener(build_pool(small_pool(), encoder), encoder)
    said = "the results of the test came today"
    assert small.reply([Turn("speaker", f"{said}, wonderful, I'm delighted!")]).exemplars[0].emotion == "joyful"
    assert small.reply([Turn("speaker", f"{said}, terrible, I'm crying")]).exemplars[0].emotion == "sad"


def test_a_damaged_or_missing_cache_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    heard: list[int] = []

    def started(count: int) -> Callable[[int], None]:
        heard.append(count)
        return lambda done: None

    encoder = SentenceEncoder()
    first = build_pool(small_pool(), encoder, started)
    build_pool(small_pool(), encoder, started)
    assert len(heard) == 1, "the second time nothing is encoded"
    (kept,) = (tmp_path / "harken").glob("pool-*.npz")
    kept.write_bytes(kept.read_bytes()[:1000])
    again = build_pool(small_pool(), encoder, started)
    assert len(heard) == 2
    assert np.allclose(first.vectors["thread"], again.vectors["thread"])
    kept.unlink()
    (tmp_path / "harken").rename(tmp_path / "gone")
    (tmp_path / "harken").write_text("a file where the folder should be")
    assert len(build_pool(small_pool(), SentenceEncoder(), started)) == 6, "a cache that cannot be kept stops nobody"


def test_whom_a_turn_speaks_of() -> None:
    assert people("Mum says she's fine, and the dogs too") == {"mother", "she", "dog"}


def test_threads_and_moments_are_sums_of_turns() -> None:
    """With axes for vectors: the thread of a sentence and "yes" leans to the sentence by 1 : 2/8, the moment is even."""
    long = "this is a sentence with at least eight words"
    axes = {long: np.eye(3)[0], "really?": np.eye(3)[1], "yes": np.eye(3)[2]}
    turns = [Turn("speaker", long), Turn("listener", "really?"), Turn("speaker", "yes")]
    thread = thread_vector(turns, lambda text: np.asarray(axes[text], dtype=np.float32))
    assert np.allclose(thread, np.array([1, 0, 0.25]) / np.sqrt(1 + 0.25**2))
    moment = moment_vector(turns, lambda text: np.asarray(axes[text], dtype=np.float32))
    assert np.allclose(moment, np.array([0, 1, 1]) / np.sqrt(2))


def test_words_lose_their_endings() -> None:
    assert stems("Worries worried worry") == {"worr"}
