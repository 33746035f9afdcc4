"""Writes docs/conversations.md: the built-in listener answering the people of conversations.txt, nothing edited.

`python -m benchmarks.conversations`. The people's turns were written before the listener was tuned and do not depend on what
it answers, as when somebody tells a story.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import harken
from benchmarks.__main__ import commit
from harken.files import atomic
from harken.serving.care import Care, Careful
from harken.serving.chat import Chat

HERE = Path(__file__).parent


def main() -> None:
    listener = Careful(harken.load_listener(), Care(country="US"))
    people = (HERE / "conversations.txt").read_text(encoding="utf-8").strip().split("\n\n")
    with atomic(HERE.parent / "docs" / "conversations.md") as page:
        page.write(
            f"# {len(people)} conversations with the built-in listener\n\n"
            f"Made by `python -m benchmarks.conversations`, {datetime.now(UTC):%Y-%m-%d}, harken {harken.__version__}, commit "
            f"{commit()}; nothing is edited or left out. In brackets: the emotion read and the intent of the reply.\n"
        )
        for number, person in enumerate(people, start=1):
            chat = Chat(listener)
            page.write(f"\n## {number}\n\n")
            for said in person.splitlines():
                reply = chat.say(said)
                page.write(f"**you** {said}  \n**harken** {reply.text} *({reply.emotion}, {reply.intent})*\n\n")


if __name__ == "__main__":
    main()
