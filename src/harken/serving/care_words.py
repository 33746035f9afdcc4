"""What people type, brought to one plain form that patterns can be written against.

    "im gonna KMS 2nite… i jus cant do this anymoreee"   as typed
    "i am going to kms tonight i can not do this any more"   as `plain` gives it

Lower case, one space between words, ` | ` between sentences. Contractions and chat spellings are written out, disguised
words ("su1c1de", "k*ll", "s u i c i d e") are restored, and words that only colour a sentence ("just", "really",
"honestly") go, so that a pattern need not allow for them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

BREAK = "|"

_GUARDED = (
    "suicide suicidal kill killed killing die dying dead death rape raped rapist abuse abused abuser cut cutting murder stab "
    "shoot overdose unalive hang drown"
).split()
"""Words that people disguise with stars and digits."""

_SPELLING = {
    "suicide": "sucide suiside suicid suicied suicde sucicide suacide suecide siucide suiscide suuicide suicice sewerslide "
    "sewercide sewerside suiciding suicides",
    "suicidal": "sucidal suicidel suisidal suicidle sucidle suicdal suicidial siucidal suicideal suicidaly suicidally "
    "sewerslidal",
    "commit": "comit committ commited comitted comitting committing committed commiting",
    "myself": "myslef mysef mysel meself myselff mself mysself misself myselfs",
    "himself": "hisself himslef",
    "herself": "herslef",
    "themselves": "themself theirselves themselfs",
    "yourself": "urself yourslef yrself ursef yaself yoself",
    "kill": "kil kll kyll",
    "killed": "kild kiled",
    "killing": "kiling",
    "die": "diee",
    "dead": "ded deadd",
    "want": "wnat wantt wanr wantd wan wnt",
    "hurt": "hurtt hert",
    "abuse": "abouse",
    "abusive": "abusiv abussive abusve",
    "raped": "rapd",
    "assaulted": "assulted asaulted assualted",
    "sexually": "sexualy",
    "molested": "molestd mollested",
    "strangled": "strangeled",
    "choked": "chokd",
    "overdose": "overdoes overdos ovedose",
    "anyone": "any1 anyoen ne1",
    "someone": "some1 sum1 smn",
    "everyone": "every1 evry1 evryone everone",
    "no one": "no1 noone nobody no-one",
    "everything": "evrything everythin",
    "tonight": "2nite 2night tonite tn tnite",
    "today": "2day",
    "tomorrow": "tmrw tmr tomorow tommorow tommorrow 2moro 2morrow tomoz tomoro tmw",
    "to": "2",
    "for": "4",
    "because": "cuz coz cos bc becuz bcs bcuz becos becoz cause",
    "about": "abt abou bout",
    "with": "wit wiv w",
    "without": "w/o wout",
    "please": "pls plz plss",
    "people": "ppl",
    "something": "smth smthn sumthing somethin sumthin",
    "nothing": "nothin nuthin nuffin",
    "you": "u ya",
    "your": "ur yr",
    "are": "r",
    "and": "n nd an' &",
    "boyfriend": "bf boyf boifriend bofriend",
    "girlfriend": "gf girlf gurlfriend",
    "husband": "hubby hubbie husbend",
    "mum": "mom mam mummy mommy mama ma momma mumma",
    "dad": "daddy dada pops papa",
    "brother": "bro",
    "sister": "sis",
    "cousin": "cuz'n",
    "friend": "freind frend bestie bff",
    "and so": "nso",
    "right now": "rn",
    "do not know": "idk dunno dno idek",
    "do not care": "idc idgaf",
    "going to": "gonna gunna gna goin-to gon finna",
    "am going to": "imma ima i'ma",
    "want to": "wanna wana wona wannna",
    "got to": "gotta",
    "trying to": "tryna trynna",
    "let me": "lemme",
    "kind of": "kinda",
    "should have": "shoulda should've",
    "any more": "anymore nomore animore",
    "forever": "4ever 4eva foreva",
    "years": "yrs",
    "year": "yr",
    "with you": "witchu",
    "through": "thru",
    "night": "nite",
    "last": "lst",
    "okay": "ok k okey okie",
    "think": "fink thnk",
    "thinking": "thinkin finking",
    "self harm": "selfharm selfharming selfharmed sh'd sh'ing self-h s/h slf-harm",
    "self harmed": "selfharmd",
    "stepdad": "step-dad stepfather step-father stepda",
    "stepmum": "step-mum stepmom step-mom stepmother step-mother",
    "grandad": "granddad grandpa grandfather gramps grampa gran'dad pop-pop",
    "grandma": "gran nan nana nanna grandmother granny nanny gramma",
    "feel": "feal",
    "life": "lyf lief lyfe",
    "live": "liv",
    "alive": "aliv",
    "believes": "belives",
    "never": "nvr",
    "know": "kno",
    "when": "wen",
    "was": "wuz woz",
    "the": "teh da",
    "that": "dat",
    "this": "dis",
    "is not": "ain't aint isnt",
    "can not": "can't cant cannot cannae can`t carnt",
    "will not": "won't wont",
    "do not": "dont dnt don`t dunt dinnae",
    "does not": "doesnt",
    "did not": "didnt",
    "is no": "isno",
    "would not": "wouldnt",
    "could not": "couldnt",
    "should not": "shouldnt",
    "was not": "wasnt",
    "were not": "werent",
    "have not": "havent",
    "has not": "hasnt",
    "had not": "hadnt",
    "are not": "arent",
    "i am": "im iam i`m",
    "i have": "ive",
    "you are": "youre",
    "they are": "theyre",
    "he is": "hes",
    "she is": "shes",
    "it is": "its",
    "that is": "thats",
    "there is": "theres",
    "what is": "whats",
    "somebody's": "sumbodys",
    "paracetamol": "paracetemol paracetomol",
    "tylenol": "tylonol",
    "medication": "meds medicaton",
}
_WRITTEN_OUT = {variant: word for word, variants in _SPELLING.items() for variant in variants.split()}

_FILLERS = frozenset(
    "just jus really so very honestly actually literally genuinely truly simply even ever always sometimes often seriously "
    "basically totally absolutely completely utterly maybe perhaps probably possibly still again quite pretty "
    "fucking fuckin effing freaking frigging bloody goddamn damn damned fkn fking flipping tbh ngl fr frfr lol lmao lmfao "
    "haha hahaha omg imo tho though also already constantly suddenly finally anyway uh erm bruh "
    "definitely certainly clearly obviously frankly currently lately recently secretly desperately badly fully".split()
)

_CURLY = str.maketrans(
    {"’": "'", "‘": "'", "‛": "'", "´": "'", "`": "'", "“": '"', "”": '"', "–": " ", "—": " ", "…": " "}
)
_DISGUISE = str.maketrans({"1": "i", "3": "e", "0": "o", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i"})
_SPACED_OUT = re.compile(r"\b(?:[a-z][ .\-_*]){2,}[a-z]\b")
_LONG = re.compile(r"([a-z])\1{2,}")
_DOTS = re.compile(r"\.{2,}")
_ENDS = re.compile(r"[.!?;\n\r]+")
_TOKEN = re.compile(r"[^\s,:()\[\]{}\"“”<>~#=+\\]+")
_WORD = re.compile(r"[a-z0-9à-öø-ÿœß]+(?:'[a-z]+)?")
_HYPHENS = re.compile(r"(?<=\w)[-/_](?=\w)")
_IS = re.compile(r"'s(?= (?:\w+ing|not|been|got|gone|dead|a|an|the|in|on|at|no|violent|abusive|suicidal|scared)\b)")
_TWICE = re.compile(r"\b(\w+)(?: \1\b)+")
_HAD = re.compile(
    r"\bwould (?=(?:never |not |just )?(?:died|been|taken|gone|done|killed|existed|hanged|written|tried|met|woken)\b)"
)
_FOREVER = re.compile(r"\bfor ever\b")
_ID = re.compile(r"\bid (?=rather|be|never|do|have|kill|like|die|love|end|hurt|go)")
_ILL = re.compile(r"\bill (?=kill|do|be|never|end|hurt|stab|shoot|make|get|not|take|jump|hang|die|see)")
_TAILS = {"'m": " am", "'re": " are", "'ve": " have", "'ll": " will", "'d": " would", "n't": " not"}
_SUBJECTS = frozenset("he she it that there what who where how here".split())
_SELVES = re.compile(r"\b(my|her|him|your|them|our) (self|selves)\b(?! (?:harm|injur|inflict|mutilat))")
_SH = re.compile(
    r"\bsh(?= (?:urges?|relapse[ds]?|clean|scars|thoughts|tonight)\b)|(?<=\bdoing )sh\b|(?<=\bdo )sh\b|(?<=\bdid )sh\b"
)
_DROPPED_G = re.compile(
    r"\b(liv|dy|cutt|kill|hurt|hitt|beat|touch|go|do|think|feel|try|be|tak|mak|com|end|harm|burn|say|tell|keep|drink)in'?\b"
)


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """The one form that patterns are written against; see the top of this file."""
    text = unicodedata.normalize("NFKC", text.translate(_CURLY)).lower()
    text = "".join(ch for ch in text if unicodedata.category(ch) != "Cf")
    text = _SPACED_OUT.sub(lambda found: re.sub(r"[^a-z]", "", found.group()), text)
    text = re.sub(r"\bs/h\b", "self harm", text)
    sentences = []
    for sentence in _ENDS.split(_DOTS.sub(" ", _keep_disguises(text))):
        words = " ".join(_words(sentence))
        words = _SELVES.sub(lambda found: found.group(1) + found.group(2), words)
        words = (
            _HAD.sub("had ", _FOREVER.sub("forever", _IS.sub(" is", words)))
            .replace(" is been ", " has been ")
            .replace(" is had ", " has had ")
        )
        words = _ID.sub("i would ", _ILL.sub("i will ", _SH.sub("self harm", words)))
        words = _TWICE.sub(r"\1", " ".join(word for word in words.split() if word not in _FILLERS))
        if words:
            sentences.append(words)
    return f" {BREAK} ".join(sentences)


def _keep_disguises(text: str) -> str:
    """Restore words like `su!cide`, `k*ll` and `r@pe` before punctuation is taken as the end of a sentence."""
    return re.sub(r"\w*[*@$!013457#]+\w+", lambda found: _unmask(found.group()), text)


@lru_cache(maxsize=1024)
def _unmask(token: str) -> str:
    open_form = re.escape(token.translate(_DISGUISE)).replace(r"\*", "[a-z]").replace(r"\#", "[a-z]")
    for word in _GUARDED:
        if len(word) == len(token) and re.fullmatch(open_form, word):
            return word
    return token


def _words(sentence: str) -> list[str]:
    words: list[str] = []
    for token in _TOKEN.findall(sentence):
        stretched = _LONG.sub(r"\1", token.strip("'"))
        if stretched in _WRITTEN_OUT:
            words += _WRITTEN_OUT[stretched].split()
            continue
        for word in _WORD.findall(_HYPHENS.sub(" ", stretched)):
            words += _written_out(word)
    return words


def _written_out(word: str) -> list[str]:
    if word in _WRITTEN_OUT:
        return _WRITTEN_OUT[word].split()
    for tail, full in _TAILS.items():
        if word.endswith(tail) and len(word) > len(tail):
            return _written_out(word.removesuffix(tail)) + full.split()
    stem = word.removesuffix("'s")
    if stem != word and stem in _SUBJECTS:
        return [stem, "is"]
    if stem != word and stem in _WRITTEN_OUT:
        return f"{_WRITTEN_OUT[stem]}'s".split()
    return [_DROPPED_G.sub(r"\1ing", word)]
