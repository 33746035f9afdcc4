"""Words and tokens for corpus statistics: what counts as a token, and what counts as a content word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")

_STOP = """
a an the this that these those there here it its
i me my mine myself we us our ours ourselves you your yours yourself yourselves u ur
he him his himself she her hers herself they them their theirs themselves itself
who whom whose which what when where why how whatever whenever
am is are was were be been being do does did doing done have has had having
can could will would shall should may might must gonna wanna gotta ought cannot
don doesn didn isn aren wasn weren hasn haven hadn couldn wouldn shouldn won ain mustn
im ive id dont doesnt didnt isnt wasnt arent werent cant couldnt wouldnt wont havent hasnt hadnt shouldnt
thats its theres whats youre hes shes theyre weve youve theyve lets
and or but nor so if then than because cause cuz as until while though although unless whether since
of at by for with about against between into through during before after above below to from up down in out on off
over under onto upon within without toward towards around across along behind beside among per via
again further once ever never always often sometimes usually just only also too very really quite rather pretty
even still yet already almost maybe perhaps actually basically literally totally definitely probably especially
somehow somewhat anyway however instead otherwise else much many more most less least few little lot lots bit
all any both each every some such other others another same own no not none nothing something anything everything
someone somebody anyone anybody everyone everybody nobody one ones two now today soon later ago away back last next
get gets getting got gotten go goes going gone went come comes came coming make makes made making
take takes took taking put puts let letting say says said saying tell tells told telling
know knows knew think thinks thought thinking see saw seen look looks looked looking want wants wanted
seem seems seemed keep keeps kept use used using try trying tried give gave given
thing things stuff kind sort way like yes yeah yea yep no nope oh ah aw aww um uh hey hi hello ok okay well lol haha
sure right wow
"""
STOP_WORDS = frozenset(_STOP.split())
"""Words that carry grammar, courtesy or hesitation rather than content."""


def count_tokens(text: str) -> int:
    """Words and punctuation marks: `That's great!` has three, as in the papers' length figures."""
    return len(_TOKEN.findall(text))


def content_words(text: str) -> Iterator[str]:
    """The words that tell what a text is about, in lower case, a clitic cut off: `mom's` is `mom`, `I'm` is nothing."""
    for match in _WORD.findall(text.lower()):
        word = _content(match)
        if word:
            yield word


@cache
def _content(match: str) -> str:
    """The word without its clitic, or nothing for a stop word; cached, for a corpus repeats itself."""
    word = match.replace("’", "'").partition("'")[0]
    return word if len(word) > 1 and word not in STOP_WORDS else ""
