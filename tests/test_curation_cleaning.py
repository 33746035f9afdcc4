"""Cleaning: each filter with what it takes and what it leaves, the count of a whole film, and two laws."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harken.config import build
from harken.curation.cleaning import FILTERS, CleaningConfig, clean
from harken.curation.languages import is_foreign
from harken.curation.near_duplicates import Told, shingles
from harken.curation.segmentation_features import words
from harken.dialogue import ROLES, Dialogue, Turn
from harken.errors import HarkenError

CONFIG = CleaningConfig()
HELLO, FINE = "Have you seen my brother today?", "He went down to the harbour with your dog."


def dialogue(*texts: str, name: str = "7.xml#1") -> Dialogue:
    turns = tuple(Turn(ROLES[number % 2], text) for number, text in enumerate(texts))
    return Dialogue(name, turns, source="opensubtitles", extra={"film": "2001/42"})


def texts_of(kept: list[Dialogue]) -> list[list[str]]:
    return [[turn.text for turn in each.turns] for each in kept]


# Turns: what is dropped, what cuts, and what stays although it looks alike

DROPPED = {
    "wordless": ["...", "?!", "12", "- 7 -"],
    "credit": [
        "Subtitles by Some One",
        "Sync and corrections by nobody",
        "English subtitles: Some One",
        "Good night. Synced & corrected by nobody",
        "Captioning sponsored by a channel",
        "Directed by Some One",
        "Written and directed by Some One",
        "Copyright 2001 by a studio",
    ],
    "advertisement": [
        "Visit www.example.com for more",
        "Get it from www. example. org now",
        "http://example.test/films",
        "Please rate this subtitle and help other users",
        "Advertise your product or brand here",
        "Support us and become VIP member to remove all ads from example",
        "More at OpenSubtitles",
    ],
    "repeated": [HELLO, "have you seen my brother today"],
}
CUTTING = {
    "foreign": [
        "No puedo creer que hayas venido hasta aquí.",
        "Je ne sais pas ce que vous voulez.",
        "Ich weiß nicht, was du meinst.",
        "Perché non mi hai detto niente?",
        "Nie mamy już czasu.",
        "Где ты был всю ночь?",
    ],
    "short_turn": ["A.", "I..."],
    "long_turn": ["and so on " * 34],
}
LEFT = [
    "Bye!",
    "Correction: it was Tuesday.",
    "He was corrected by his wife.",
    "The music by the river was lovely.",
    "It was written by hand.",
    "I caught it in the sea. Net or no net, I caught it.",
    "My sister sells ads for a paper.",
    "You stupid bloody idiot!",
    "Non, merci.",
    "Olive, Marcus, Doctor Vasquez!",
    "I 'm not sure we 'll make it .",
    "12 of them.",
    "No.",
    "and so on " * 33,
]


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, examples in DROPPED.items() for text in examples])
def test_what_nobody_says_is_dropped(name: str, text: str) -> None:
    found = clean([dialogue(HELLO, text, FINE)], CONFIG)
    assert found.removed == Counter({name: 1})
    assert found.kept == [dialogue(HELLO, FINE)]


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, examples in CUTTING.items() for text in examples])
def test_what_is_of_no_use_cuts_the_dialogue(name: str, text: str) -> None:
    found = clean([dialogue(HELLO, FINE, text, "Then I shall wait.", "As you like.", "Thank you.")], CONFIG)
    assert found.removed == Counter({name: 1})
    assert found.kept == [
        dialogue(HELLO, FINE, name="7.xml#1.1"),
        dialogue("Then I shall wait.", "As you like.", "Thank you.", name="7.xml#1.2"),
    ]


@pytest.mark.parametrize("text", LEFT)
def test_what_people_say_is_left(text: str) -> None:
    given = dialogue(HELLO, text, FINE)
    assert clean([given], CONFIG).kept == [given]


def test_an_echo_is_left_and_a_cut_at_the_edge_keeps_the_name() -> None:
    echo = dialogue("Bye!", "Bye!", "Bye, then.")
    assert clean([echo], CONFIG).kept == [echo]
    assert clean([dialogue("Где ты был всю ночь?", HELLO, FINE, "A.")], CONFIG).kept == [dialogue(HELLO, FINE)]


# Dialogues

OUTSIDE: dict[str, list[tuple[str, ...]]] = {
    "foreign_dialogue": [("Dove sei?", "Sono qui.", "Non adesso.")],
    "short_dialogue": [(HELLO,)],
    "long_dialogue": [tuple(f"This is the turn before number {number}." for number in range(201))],
    "repetitive": [("Run!", "Faster!", "Run!", "Run!", "Run!")],
}


@pytest.mark.parametrize(("name", "texts"), [(name, texts) for name, cases in OUTSIDE.items() for texts in cases])
def test_unfit_dialogues_are_removed_with_all_their_turns(name: str, texts: tuple[str, ...]) -> None:
    found = clean([dialogue(*texts)], CONFIG)
    assert (found.kept, found.removed) == ([], Counter({name: len(texts)}))
    assert found.removed_dialogues == Counter({name: 1})


def test_dialogues_just_inside_are_left() -> None:
    inside = [
        dialogue("Oui, merci.", "To the harbour.", "Why?", "I like it there."),
        dialogue(*(f"This is the turn before number {number}." for number in range(200))),
        dialogue("Run!", "Faster!", "Run!", "Run!"),
    ]
    for each in inside:
        assert clean([each], CONFIG).kept == [each]


def test_another_version_of_the_film_is_found() -> None:
    """Other spelling, other line breaks and other borders of the scene; but a scene of its own stays."""
    first = dialogue("Where were you last night?", "I was at the harbour, looking for your brother, if you must know.")
    again = dialogue(
        "Where were you last night?", "I was at the harbor,", "looking for your brother if you must know!", name="8#1"
    )
    other = dialogue("Where were you last night?", "Nowhere. Why would you ask a thing like that?", name="8#2")
    found = clean([first, again, other], CONFIG)
    assert texts_of(found.kept) == texts_of([first, other])
    assert found.removed_dialogues == Counter({"near_duplicate": 1})


def test_shingles_by_hand() -> None:
    """`a b c d e` has two; of `a b c d x` one of two was told: a half."""
    assert shingles("a b c d e".split()) == {("a", "b", "c", "d"), ("b", "c", "d", "e")}
    assert shingles(["a"]) == {("a",)}
    told = Told()
    assert not told.again("a b c d e".split(), share=0.5)
    assert not told.again("a b c d x".split(), share=0.51)
    assert told.again("a b c d y".split(), share=0.5)
    assert not told.again("b c d y".split(), share=0.5)  # what is removed is not remembered


def test_profanity_stays_and_order_decides_the_count() -> None:
    """A credit with an address counts as a credit only; a foreign address is dropped before it can cut."""
    given = dialogue(
        HELLO, "Subtitles by www.example.com", "Damn you all to hell!", "www.example.fr: je ne sais pas ce que vous"
    )
    found = clean([given], CONFIG)
    assert found.removed == Counter({"credit": 1, "advertisement": 1})
    assert texts_of(found.kept) == [[HELLO, "Damn you all to hell!"]]


# The language test over many languages

ELSEWHERE = """
¿Dónde está mi hermana?|Quiero hablar con usted mañana.|Où est-ce que tu vas ce soir ?|Nous sommes très heureux de vous voir.
Das ist mein Haus, und du gehst jetzt.|Wir haben keine Zeit mehr.|Questa è la mia casa.|Não sei o que você quer.
Eu não tenho nada para dizer.|Ik weet niet wat je bedoelt.|Jag vet inte vad du menar.|Jeg ved ikke, hvad du mener.
Nie wiem, o co ci chodzi.|Nevím, co tím myslíš.|Nu știu ce vrei să spui.|Ez az én házam.|En tiedä, mitä tarkoitat.
Δεν ξέρω τι εννοείς.|我不知道你是什么意思。|لا أعرف ماذا تقصد.
""".strip().replace("\n", "|")


@pytest.mark.parametrize("text", ELSEWHERE.split("|"))
def test_other_languages_are_known(text: str) -> None:
    assert is_foreign(text, words(text))


def test_any_language_may_be_kept() -> None:
    given = dialogue("Où est-ce que tu vas ce soir ?", "Nous sommes très heureux de vous voir.")
    assert clean([given], CONFIG).kept == []
    assert clean([given], CleaningConfig(english=False)).kept == [given]


# Config and laws


def test_a_config_names_all_its_mistakes() -> None:
    with pytest.raises(HarkenError) as problem:
        build(CleaningConfig, {"max_words": 0, "min_turns": 3, "max_turns": 2, "min_distinct": 2.0, "told_before": 0.0})
    for name in ("max_words = 0", "max_turns = 2", "min_distinct = 2.0", "told_before = 0.0"):
        assert name in str(problem.value)


def test_every_filter_says_what_it_is() -> None:
    assert all(each.about.endswith(".") for each in FILTERS.values())
    assert set(DROPPED) | set(CUTTING) | set(OUTSIDE) | {"near_duplicate"} == set(FILTERS)


SAID = st.sampled_from(
    [text for group in (DROPPED, CUTTING) for examples in group.values() for text in examples]
    + [HELLO, FINE, *LEFT[:-1], "Dove sei?", "Sono qui.", "Run!", "Yes, my brother went down to the harbour."]
)
FILMS = st.lists(st.lists(SAID, min_size=1, max_size=9), max_size=6)


@settings(max_examples=80, deadline=None)
@given(FILMS)
def test_every_turn_is_kept_or_counted_once_and_cleaning_twice_changes_nothing(film: list[list[str]]) -> None:
    dialogues = [dialogue(*texts, name=f"7.xml#{number}") for number, texts in enumerate(film, start=1)]
    once = clean(dialogues, CONFIG)
    turns = sum(len(each.turns) for each in once.kept)
    assert turns + once.removed.total() == sum(map(len, film))
    assert len({each.id for each in once.kept}) == len(once.kept)
    assert set(once.removed) <= set(FILTERS)
    twice = clean(once.kept, CONFIG)
    assert (twice.kept, twice.removed.total()) == (once.kept, 0)
    for each in once.kept:
        assert [turn.role for turn in each.turns] == [ROLES[number % 2] for number in range(len(each.turns))]
