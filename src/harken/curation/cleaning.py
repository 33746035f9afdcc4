"""The cleaning of dialogues, over one film at a time: named filters in a fixed order, each turn removed counted once.

The paper's appendix with the steps is not public, so these are common sense, and every one can be seen, counted and set:

    drop     nobody in the scene says it: the turn goes and its neighbours meet
    cut      it was said but is of no use: the dialogue ends before it and another begins after it
    remove   the dialogue as a whole goes, with all its turns

What is left passes every filter, so cleaning twice changes nothing. Profanity and bare insults stay: people are angry in films
and in life, and a listener must have heard it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from harken.curation.credits import is_advertisement, is_credit
from harken.curation.dialogues import alternating
from harken.curation.languages import is_foreign
from harken.curation.near_duplicates import Told
from harken.curation.segmentation_features import words
from harken.dialogue import Dialogue, Turn


@dataclass(frozen=True, kw_only=True)
class CleaningConfig:
    """Where the filters draw their lines."""

    english: bool = True
    """Keep only English."""
    min_letters: int = 2
    """In a turn."""
    max_words: int = 100
    """In a turn; the paper's turns have 16.6 tokens in the mean (Table 1)."""
    repeat_words: int = 3
    """From how many words on a turn like the one before is a fault of the file: two people may well say `Bye!`"""
    min_turns: int = 2
    max_turns: int = 200
    """In a dialogue; the paper's have 4.7 in the mean. Longer ones have lost their times, and with them their scenes."""
    min_distinct: float = 0.5
    """Share of a dialogue's turns that must differ from each other; chants and songs repeat themselves."""
    told_before: float = 0.5
    """Share of a dialogue's runs of four words, found earlier in the film, that makes it a near duplicate."""

    def problems(self) -> Iterator[str]:
        """What makes this config unusable."""
        for name in ("min_letters", "max_words", "repeat_words", "min_turns"):
            if getattr(self, name) < 1:
                yield f"{name} = {getattr(self, name)} must be at least 1"
        if self.max_turns < self.min_turns:
            yield f"max_turns = {self.max_turns} must not lie below min_turns = {self.min_turns}"
        if not 0 <= self.min_distinct <= 1:
            yield f"min_distinct = {self.min_distinct} is a share of the turns and must lie in 0..1"
        if not 0 < self.told_before <= 1:
            yield f"told_before = {self.told_before} is a share of the words and must lie above 0 and up to 1"


class Said(NamedTuple):
    """A turn and its words in lower case."""

    turn: Turn
    words: list[str]


def wordless(said: Said, before: Said | None, config: CleaningConfig) -> bool:
    """A line of no words: music, dots, numbers of scenes."""
    return not any(word[0].isalpha() for word in said.words if word[0] != "'")


def credit(said: Said, before: Said | None, config: CleaningConfig) -> bool:
    """Who made the subtitles or the film: `Subtitles by ...`, `Directed by ...`."""
    return is_credit(said.turn.text, said.words)


def advertisement(said: Said, before: Said | None, config: CleaningConfig) -> bool:
    """Addresses and advertisements that subtitle sites put in."""
    return is_advertisement(said.turn.text, said.words)


def repeated(said: Said, before: Said | None, config: CleaningConfig) -> bool:
    """The line before once more, which is a fault of the file."""
    return before is not None and len(said.words) >= config.repeat_words and said.words == before.words


def foreign(said: Said, before: Said | None, config: CleaningConfig) -> bool:
    """A turn that is not English."""
    return config.english and is_foreign(said.turn.text, said.words)


def short_turn(said: Said, before: Said | None, config: CleaningConfig) -> bool:
    """A turn of too few letters, a sound at most."""
    text = said.turn.text
    return len(text) < 4 * config.min_letters and sum(map(str.isalpha, text)) < config.min_letters


def long_turn(said: Said, before: Said | None, config: CleaningConfig) -> bool:
    """A turn of too many words: a narrator, or speakers that were not told apart."""
    return len(said.words) > config.max_words


def foreign_dialogue(scene: Sequence[Said], told: Told, config: CleaningConfig) -> bool:
    """A dialogue that is not English as a whole, though each turn is too short to say so."""
    return config.english and is_foreign(" ".join(said.turn.text for said in scene), _all_words(scene))


def short_dialogue(scene: Sequence[Said], told: Told, config: CleaningConfig) -> bool:
    """Too few turns: nobody answers."""
    return len(scene) < config.min_turns


def long_dialogue(scene: Sequence[Said], told: Told, config: CleaningConfig) -> bool:
    """Too many turns: scenes that were not told apart."""
    return len(scene) > config.max_turns


def repetitive(scene: Sequence[Said], told: Told, config: CleaningConfig) -> bool:
    """Mostly the same turns again and again."""
    return len({tuple(said.words) for said in scene}) < config.min_distinct * len(scene)


def near_duplicate(scene: Sequence[Said], told: Told, config: CleaningConfig) -> bool:
    """Told before in this film, by another version of its subtitles."""
    return told.again(_all_words(scene), config.told_before)


def _all_words(scene: Sequence[Said]) -> list[str]:
    return [word for said in scene for word in said.words]


@dataclass(frozen=True)
class Filter:
    """What a filter looks for and what becomes of that."""

    does: Literal["drop", "cut", "remove"]
    function: Callable[..., bool]

    @property
    def about(self) -> str:
        """One line for tables."""
        return (self.function.__doc__ or "").splitlines()[0]


FILTERS: dict[str, Filter] = {
    "wordless": Filter("drop", wordless),
    "credit": Filter("drop", credit),
    "advertisement": Filter("drop", advertisement),
    "repeated": Filter("drop", repeated),
    "foreign": Filter("cut", foreign),
    "short_turn": Filter("cut", short_turn),
    "long_turn": Filter("cut", long_turn),
    "foreign_dialogue": Filter("remove", foreign_dialogue),
    "short_dialogue": Filter("remove", short_dialogue),
    "long_dialogue": Filter("remove", long_dialogue),
    "repetitive": Filter("remove", repetitive),
    "near_duplicate": Filter("remove", near_duplicate),
}
"""In the order in which they are asked; the first to say yes has the turn or dialogue on its count."""
_OF_TURNS = [(name, each.function, each.does == "cut") for name, each in FILTERS.items() if each.does != "remove"]
_OF_DIALOGUES = [(name, each.function) for name, each in FILTERS.items() if each.does == "remove"]


@dataclass
class Cleaned:
    """The dialogues left, and how many turns each filter took: turns kept and removed make up all there were."""

    kept: list[Dialogue] = field(default_factory=list)
    removed: Counter[str] = field(default_factory=Counter)
    """Turns, by filter."""
    removed_dialogues: Counter[str] = field(default_factory=Counter)
    """Whole dialogues, by filter."""


def clean(dialogues: Sequence[Dialogue], config: CleaningConfig) -> Cleaned:
    """Clean all dialogues of ONE film, every version of its subtitles together, so that near duplicates meet."""
    result, told = Cleaned(), Told()
    for dialogue in dialogues:
        scenes = _scenes(dialogue, config, result.removed)
        for number, scene in enumerate(scenes, start=1):
            reason = next((name for name, unfit in _OF_DIALOGUES if unfit(scene, told, config)), None)
            if reason is not None:
                result.removed[reason] += len(scene)
                result.removed_dialogues[reason] += 1
            elif len(scene) == len(dialogue.turns):
                result.kept.append(dialogue)
            else:
                turns = tuple(alternating(said.turn for said in scene))
                part = f".{number}" if len(scenes) > 1 else ""
                result.kept.append(replace(dialogue, id=dialogue.id + part, turns=turns))
    return result


def _scenes(dialogue: Dialogue, config: CleaningConfig, removed: Counter[str]) -> list[list[Said]]:
    """The turns that pass, in the pieces into which cuts divide them."""
    scenes: list[list[Said]] = [[]]
    for turn in dialogue.turns:
        said, scene = Said(turn, words(turn.text)), scenes[-1]
        before = scene[-1] if scene else None
        for name, unfit, cuts in _OF_TURNS:
            if unfit(said, before, config):
                removed[name] += 1
                if cuts and scene:
                    scenes.append([])
                break
        else:
            scene.append(said)
    return [scene for scene in scenes if scene]
