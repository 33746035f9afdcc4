"""What care says, and whom it names: fixed words, written once, with the lines of the person's country.

Calm, short, no lecture, no promise that cannot be kept. Every text says or shows that a program is speaking and that people can
be reached now.
"""

from __future__ import annotations

import locale
import os
import re
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

from harken.errors import HarkenError, did_you_mean
from harken.serving.care_patterns import Kind, Signal

_FIRST = {
    "despair": "I'm really glad you told me. What you're going through sounds very heavy, and I'm a program: you deserve a "
    "person right now. {reach} Are you safe at this moment?",
    "abuse": "Thank you for telling me. What is being done to you is not your fault, and you don't have to sort it out alone. "
    "I'm a program, but there are people trained for exactly this. {reach} Are you somewhere safe right now?",
    "danger": "I hear how strong this is. Before anything happens that can't be undone, please put some distance between you "
    "and them, and talk to a person. {reach} Is anybody in danger at this moment?",
    "bereaved": "I'm so very sorry. Losing someone that way leaves a pain that is hard to carry alone, and it was not your "
    "fault. There are people, some of whom have lost someone the same way, who will listen. {reach} How are you tonight?",
}
_NOW = (
    "Please call {emergency} now, or ask whoever is nearest to call, and tell them what happened and what you took. I'm a program: I can't "
    "send anyone, people can. Unlock the door, stay where you can be found, and stay on the line with them. {reach}"
)
_OVER = (
    "Thank you for trusting me with that. I'm glad you are here. Speaking of it can stir things up, even years later; if it does, there are "
    "people awake to talk to. {reach} How is it for you these days?"
)
_OTHERS = {
    "despair": "I'm glad you're looking out for them. Take it seriously, stay with them if you can, and ask them straight out; "
    "asking does no harm. I'm a program, so please bring in people who can help. {reach} Are they safe at this moment?",
    "abuse": "It's good that you noticed and said so. You don't need proof to ask for advice, and you don't have to decide alone. "
    "I'm a program, but people trained for this will listen. {reach} Is anyone in danger right now?",
    "danger": "Thank you for taking this seriously. If someone may get hurt soon, don't wait and don't face it alone: I'm a program, but "
    "people can act. {reach} Are you somewhere safe yourself?",
}
_AGAIN = {
    "despair": (
        "I'm still here, and I'm taking every word seriously. Please let one person hear this from you now, a friend next "
        "door or a stranger on the line. {reach} If there is something near you that you could use to hurt yourself, put it out of reach.",
        "I hear you. You don't have to get through the whole night, only the next few minutes, and not alone. {reach} Who is the nearest person "
        "you could sit beside?",
    ),
    "abuse": (
        "I believe you. Whatever was said to you, you have a right to be safe. If you can, go where there are other people. {reach}",
        "None of this is your doing. People who know how to plan a safe way out will go at your speed. {reach} Is there a door you could go to?",
    ),
    "danger": (
        "I'm still here. Please don't act on it now: leave the place, put away anything that could be used as a weapon, and "
        "let a person talk this through with you. {reach}",
        "Nothing has to be settled tonight. Put a street between you and them, and let somebody hear how bad it is. {reach}",
    ),
    "bereaved": (
        "There is no right way to feel about this, and you can take as long as it takes. {reach}",
        "Thank you for telling me more about it. You don't have to carry the questions by yourself. {reach}",
    ),
}
_STAYING = (
    "I'm staying with this for a moment, because you matter more than the subject. Are you safe right now? {reach}"
)
_PLACE = "Thank you, that helps. {reach} Would you reach out to one of them, or to someone near you?"
_LEAVING = "I'm glad. If it comes back, tonight or in a month: {reach} And we can talk about whatever you like now; what's on your mind?"
_ANSWERS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"^(no|nope|not really|i am not|not safe|i do not think so)\b"),
        "Then please don't stay alone with it. Call {emergency} now, or go to where there are people: a neighbour, a shop, a "
        "hospital. {reach}",
    ),
    (
        re.compile(
            r"do not want to (call|talk|phone|ring)|can not (call|talk|phone)|hate (calling|phones?|phone calls)|scared to call"
        ),
        "You don't have to speak if you can't: many lines take text messages or chat, and you may hang up whenever you want. {reach} Or "
        "show this screen to someone you trust.",
    ),
    (
        re.compile(r"no ?one|nobody|alone|by myself"),
        "I'm sorry you're alone with it. The people on these lines sit there for exactly this hour and this call. {reach}",
    ),
    (
        re.compile(r"thank|thanks|thx"),
        "You're welcome. I'd feel better if a person knew too. {reach} Are you safe right now?",
    ),
    (
        re.compile(r"do not know|dunno|not sure|maybe|idk"),
        "It's all right not to know. One step is enough: one message or one call to one person. {reach}",
    ),
)
_MOVES_ON = re.compile(
    r"\b(i am|i feel|we are|she is|he is|they are)( (feeling|much|a bit|totally|completely|really|all|now|doing))*"
    r" (safe|ok|okay|fine|better|alright|all right|calmer|good)\b"
    r"|^(yes|yeah|yep)( i am)?( safe)?( now)?$|something else|change the subject|move on from this|^(just )?(kidding|joking)\b"
    r"|(did not|do not) mean it|i was (only |just )?(joking|kidding)|feel(ing)? better"
)


def first_reply(signal: Signal, place: str | None, *, times: int = 1) -> str:
    """The reply to words that mean danger; `times` counts such turns, so that nothing is said twice in a row."""
    group = "despair" if signal.kind in ("suicide", "self-harm") else signal.kind
    if signal.now:
        text = _NOW
    elif times > 1:
        text = _AGAIN[group][times % 2]
    elif signal.about_other:
        text = _OTHERS.get(group, _FIRST[group])
    else:
        text = _OVER if signal.past and group in ("despair", "abuse") else _FIRST[group]
    return text.format(reach=reach(place, signal.kind), emergency=emergency(place))


def follow_up(kind: Kind, place: str | None, said: str) -> str:
    """The reply to an ordinary turn while care is on."""
    plain = simple(said)
    lines = reach(place, kind)
    if moves_on(said):
        return _LEAVING.format(reach=lines)
    if named_countries(said):
        return _PLACE.format(reach=lines)
    for pattern, text in _ANSWERS:
        if pattern.search(plain):
            return text.format(reach=lines, emergency=emergency(place))
    return _STAYING.format(reach=lines)


def moves_on(said: str) -> bool:
    """Whether the person says that they are safe, or wants another subject."""
    return _MOVES_ON.search(simple(said)) is not None


def simple(text: str) -> str:
    """Lower case, contractions written out, no punctuation: enough to recognise short answers."""
    text = (
        text.lower().replace("’", "'").replace("can't", "can not").replace("won't", "will not").replace("n't", " not")
    )
    text = re.sub(
        r"\b(dont|didnt|cant|im)\b",
        lambda m: {"dont": "do not", "didnt": "did not", "cant": "can not", "im": "i am"}[m[0]],
        text,
    )
    text = text.replace("'m", " am").replace("'re", " are").replace("he's", "he is").replace("she's", "she is")
    return re.sub(r"[^a-z ]+", " ", text).strip()


@lru_cache(maxsize=1)
def _lines() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(
        files("harken.serving").joinpath("helplines.yaml").read_text(encoding="utf-8")
    )
    return loaded


def countries() -> dict[str, str]:
    """Two-letter code and name of the countries whose lines are known."""
    return {code: str(entry["name"]) for code, entry in _lines()["countries"].items()}


def country_code(country: str) -> str:
    """The two-letter code of a country, checked."""
    code = country.strip().upper()
    code = "GB" if code == "UK" else code
    if not re.fullmatch(r"[A-Z]{2}", code):
        raise HarkenError(
            f"country '{country}' is not a two-letter code such as US or GB{did_you_mean(code, countries())}"
        )
    return code


def country_here() -> str | None:
    """`HARKEN_COUNTRY`, or the country of the locale (en_GB gives GB)."""
    if named := os.environ.get("HARKEN_COUNTRY"):
        return country_code(named)
    spoken = os.environ.get("LC_ALL") or os.environ.get("LANG") or (locale.getlocale()[0] or "")
    found = re.match(r"[a-z]{2}_([A-Z]{2})", spoken)
    return found.group(1) if found else None


_ALIASES = {"usa": "US", "america": "US", "uk": "GB", "england": "GB", "scotland": "GB", "wales": "GB", "britain": "GB"}


def named_countries(text: str) -> list[str]:
    """Countries in which a person says to be: after in, from or at the end of a short answer."""
    names = {name.removeprefix("the ").lower(): code for code, name in countries().items()} | _ALIASES
    plain = simple(text)
    here = re.compile(rf"(?:\b(?:in|from|live in)(?: the)? |^(?:the )?)({'|'.join(map(re.escape, names))})\b")
    return [names[found] for found in here.findall(plain)]


def emergency(place: str | None) -> str:
    """The number to call when a life is in danger."""
    entry = _lines()["countries"].get(place or "")
    return str(entry["emergency"]) if entry else "your local emergency number (112 in Europe, 911 in North America)"


def reach(place: str | None, kind: Kind) -> str:
    """Whom to call, in two sentences."""
    entry = _lines()["countries"].get(place or "")
    danger = f"If there is danger right now, call {emergency(place)}."
    if entry is None:
        return f"{danger} {_lines()['directory']}"
    wanted = ("abuse", "crisis", "child") if kind == "abuse" else ("crisis",)
    lines = [line for want in wanted for line in entry["lines"] if want in line["kinds"]][:3]
    spoken = ", ".join(
        f"{line['name']} at {line['call']}" + (f" (text {line['text']})" if "text" in line else "") for line in lines
    )
    return f"{danger} In {entry['name']} you can reach {spoken}, day or night."
