"""The terminal chat as a person meets it: a pipe, a real terminal, commands, clean exits."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from harken.corpora.base import Skips
from harken.corpora.own import read_json_lines
from harken.dialogue import Turn
from harken.labels import INTENTS
from harken.listeners import Exemplar, Reply
from harken.serving.chat import HELP, Chat, told


class Parrot:
    """The smallest listener: says back what it heard."""

    name = "parrot"

    def reply(self, conversation: Sequence[Turn]) -> Reply:
        said = conversation[-1].text
        return Reply(
            f"You said: {said}", "content", "acknowledging", (Exemplar("p-1", said, "x", "content", "neutral", 0.5),)
        )


@pytest.fixture
def chat() -> Chat:
    return Chat(Parrot())


def test_the_conversation_grows_and_resets(chat: Chat) -> None:
    assert chat.say("hello").text == "You said: hello"
    assert chat.history() == "you: hello\nharken: You said: hello"
    chat.command("/reset")
    assert chat.turns == []
    assert chat.history() == "Nothing has been said yet."


def test_why_shows_emotion_intent_and_exemplars(chat: Chat) -> None:
    assert chat.command("/why") == "Nothing has been said yet."
    chat.say("hello")
    why = chat.command("/why")
    assert why is not None
    assert "content" in why and "acknowledging" in why and "p-1" in why


def test_saved_conversations_can_be_read_as_a_corpus(chat: Chat, tmp_path: Path) -> None:
    chat.say("hello")
    target = tmp_path / "talk.jsonl"
    assert chat.command(f"/save {target}") == f"Saved 2 turns to {target}"
    (dialogue,) = read_json_lines(target, Skips())
    assert [turn.text for turn in dialogue.turns] == ["hello", "You said: hello"]
    assert "exists already" in str(chat.command(f"/save {target}"))
    assert "could not be saved" in str(chat.command("/save /proc/none/x.jsonl"))
    assert chat.command("/save") == "Say where: /save FILE"


def test_commands_help_quit_and_typos(chat: Chat) -> None:
    assert chat.command("/help") == HELP
    assert chat.command("/quit") is None
    assert "did you mean 'reset'" in str(chat.command("/rest"))


PROMPT = "you    "


def harken(*arguments: str, said: bytes, home: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "harken", *arguments],
        input=said, capture_output=True, check=False, env={**os.environ, "HARKEN_HOME": str(home)}, timeout=240,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.xdist_group("listener")
class TestCommand:
    def test_a_pipe_is_answered_line_by_line(self, warm_home: Path) -> None:
        done = harken("chat", said=b"I got the job!\n\nnext monday\n/quit\nnever read\n", home=warm_home)
        assert done.returncode == 0, done.stderr
        replies = done.stdout.decode().splitlines()
        assert len(replies) == 2
        assert all(replies)

    def test_json_has_one_object_a_reply(self, warm_home: Path) -> None:
        done = harken("chat", "--json", said=b"my cat died\n/why\nI want to kill myself\n", home=warm_home)
        assert done.returncode == 0, done.stderr
        first, second = (json.loads(line) for line in done.stdout.decode().splitlines())
        assert set(first) == {"reply", "emotion", "intent", "care", "exemplars"}
        assert first["care"] is False
        assert first["intent"] in INTENTS
        assert first["exemplars"][0]["answered"] == first["reply"]
        assert second["care"] is True

    def test_bytes_that_are_not_text_do_not_stop_it(self, warm_home: Path) -> None:
        done = harken("chat", said=b"caf\xff is closed\nok\n", home=warm_home)
        assert done.returncode == 0
        assert len(done.stdout.decode().splitlines()) == 2

    def test_an_unknown_pool_is_one_sentence(self, warm_home: Path) -> None:
        done = harken("chat", "--pool", "empatheticdialogs", said=b"hi\n", home=warm_home)
        assert done.returncode == 2
        assert b"is not in the data home" in done.stderr
        assert b"Traceback" not in done.stderr

    @pytest.mark.parametrize("key", [b"\x04", b"\x03"], ids=["Ctrl-D", "Ctrl-C"])
    def test_a_real_terminal_and_clean_exits(self, warm_home: Path, key: bytes) -> None:
        child, terminal = pty.fork()
        if child == 0:
            os.environ["HARKEN_HOME"] = str(warm_home)
            os.execv(sys.executable, [sys.executable, "-m", "harken", "chat"])
        try:
            assert "listener made of software" in read_until(terminal, PROMPT)
            os.write(terminal, b"I failed my exam\r")
            assert "harken" in read_until(terminal, PROMPT)
            time.sleep(1)  # as a person would: readline hears Ctrl-C only once it waits for a key
            os.write(terminal, key)
            assert "Take care" in read_until(terminal, "yourself.")
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0
        except BaseException:
            os.kill(child, signal.SIGKILL)
            raise
        finally:
            os.close(terminal)


def read_until(terminal: int, mark: str, seconds: float = 120) -> str:
    """What the terminal shows until `mark` appears."""
    shown, until = "", time.monotonic() + seconds
    while mark not in shown:
        assert time.monotonic() < until, f"waited for {mark!r}, saw {shown!r}"
        if select.select([terminal], [], [], 1)[0]:
            try:
                shown += os.read(terminal, 4096).decode(errors="replace")
            except OSError:
                break
    return shown


def test_an_exemplar_of_which_little_is_known_is_told_without_gaps() -> None:
    whole = Exemplar("starter", "my cat died", "I am so sorry.", "sad", "sympathizing", 0.5)
    assert told(whole) == "  +0.50  starter (sad): “my cat died” → “I am so sorry.” [sympathizing]"
    assert told(Exemplar("index", "", "Oh no.", None, None, -0.25)) == "  -0.25  index: “Oh no.”"
