"""The terminal conversation: a person, a listener, and a handful of commands.

On a terminal it prompts and keeps the line history of the session (in memory only: what people say here is theirs). From a
pipe it reads one turn a line and writes one reply a line, so a conversation can be scripted. Nothing is written to disk
unless the person asks with /save.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

from harken.dialogue import Dialogue, Turn
from harken.errors import HarkenError, did_you_mean
from harken.files import write_json_lines
from harken.labels import label
from harken.listeners import Exemplar, Listener, Reply, steered

HELP = """\
/why         what I read in your words, what my reply does, and which exchanges I drew on
/intent NAME what my next replies shall be, e.g. encouraging; alone it leaves that to me again
/history     the conversation so far
/reset       forget this conversation and start anew
/save FILE   keep this conversation as a line of JSON in FILE
/help        this list
/quit        leave (so do Ctrl-D and Ctrl-C)"""
WELCOME = "I'm harken, a listener made of software. Tell me what's on your mind; /help shows the commands."
FAREWELL = "Take care of yourself."


@dataclass
class Chat:
    """One conversation with one listener."""

    listener: Listener
    turns: list[Turn] = field(default_factory=list)
    last: Reply | None = None

    def say(self, text: str) -> Reply:
        """Add what the person said, and the listener's answer to it."""
        conversation = [*self.turns, Turn("speaker", text)]
        self.last = self.listener.reply(conversation)
        self.turns = [*conversation, Turn("listener", self.last.text, self.last.intent)]
        return self.last

    def command(self, line: str) -> str | None:
        """Carry out a /command and give what to print; None means leave."""
        name, _, argument = line[1:].strip().partition(" ")
        commands: dict[str, Callable[[str], str | None]] = {
            "why": lambda _: self.why(),
            "intent": self.steer,
            "history": lambda _: self.history(),
            "reset": lambda _: self.reset(),
            "save": self.save,
            "help": lambda _: HELP,
            "quit": lambda _: None,
            "exit": lambda _: None,
        }
        if name.lower() not in commands:
            return f"There is no command /{name}{did_you_mean(name.lower(), commands) or '; /help lists them'}"
        return commands[name.lower()](argument.strip())

    def steer(self, argument: str) -> str:
        """Ask the listener for an intent, or leave the choice to it again."""
        try:
            self.listener = steered(self.listener, argument or None)
        except HarkenError as problem:
            return f"That cannot be done: {problem}"
        if not argument:
            return "I choose again what my replies shall be."
        return f"My replies shall be {label(argument).name}."

    def why(self) -> str:
        """The reasons behind the last reply."""
        if self.last is None:
            return "Nothing has been said yet."
        if self.last.care:
            return (
                "That was a fixed reply from the care page: something you wrote may mean danger. No listener wrote it."
            )
        lines = [f"I read: {self.last.emotion or 'no emotion'}.  My reply is: {self.last.intent or 'unlabelled'}."]
        if self.last.scores:
            lines.append("Weighed: " + ", ".join(f"{name} {value:+.2f}" for name, value in self.last.scores.items()))
        lines += map(told, self.last.exemplars)
        return "\n".join(lines)

    def history(self) -> str:
        """The conversation so far, a turn a line."""
        names = {"speaker": "you", "listener": "harken"}
        return "\n".join(f"{names[turn.role]}: {turn.text}" for turn in self.turns) or "Nothing has been said yet."

    def reset(self) -> str:
        """Forget the conversation."""
        self.turns, self.last = [], None
        return "Forgotten. What would you like to talk about?"

    def save(self, argument: str) -> str:
        """Write the conversation as one line of JSON that `harken data add own --from FILE` reads."""
        if not argument:
            return "Say where: /save FILE"
        if not self.turns:
            return "Nothing has been said yet."
        path = Path(argument).expanduser()
        if path.exists():
            return f"{path} exists already; choose another name."
        dialogue = Dialogue(id=path.stem, turns=tuple(self.turns), source="chat")
        try:
            write_json_lines(path, [dialogue.to_json()])
        except (HarkenError, OSError) as problem:
            return f"It could not be saved: {problem}"
        return f"Saved {len(self.turns)} turns to {path}"


def told(exemplar: Exemplar) -> str:
    """A line about an exemplar; what is not known of it is left out."""
    emotion = f" ({exemplar.emotion})" if exemplar.emotion else ""
    said = f"“{exemplar.said}” → " if exemplar.said else ""
    intent = f" [{exemplar.intent}]" if exemplar.intent else ""
    return f"  {exemplar.score:+.2f}  {exemplar.source}{emotion}: {said}“{exemplar.answered}”{intent}"


def run(chat: Chat, *, as_json: bool = False, source: TextIO | None = None) -> None:
    """Talk until the person leaves: on a terminal with prompts, from a pipe line by line."""
    stream = source or sys.stdin
    on_terminal = stream.isatty()
    console = Console(highlight=False, soft_wrap=not on_terminal)
    show = _printer(console, as_json=as_json, dressed=on_terminal and not as_json)
    if on_terminal and not as_json:
        console.print(Text(WELCOME, style="italic"))
    for line in _lines(stream, prompt=on_terminal):
        if line.startswith("/"):
            answer = chat.command(line)
            if answer is None:
                break
            # In JSON mode standard output holds replies only.
            (Console(stderr=True, highlight=False) if as_json else console).print(Text(answer, style="dim"))
        else:
            show(chat.say(line))
    if on_terminal and not as_json:
        console.print(Text(FAREWELL, style="italic"))


def _printer(console: Console, *, as_json: bool, dressed: bool) -> Callable[[Reply], None]:
    def show(reply: Reply) -> None:
        if as_json:
            print(json.dumps(reply.to_json(), ensure_ascii=False), flush=True)
        elif dressed:
            console.print(Text.assemble(("harken ", "bold cyan"), reply.text))
        else:
            print(reply.text, flush=True)

    return show


def _lines(stream: TextIO, *, prompt: bool) -> Iterator[str]:
    """What the person types, empty lines left out; Ctrl-C and Ctrl-D end it quietly."""
    if prompt:
        import readline  # noqa: F401  (arrow keys and the history of this session)
    while True:
        try:
            line = input("you    ") if prompt else stream.readline()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        if not prompt and not line:
            return
        if line.strip():
            yield line.strip()
