"""Raw files to Dialogue records: one reader per corpus, one table of them all, one store.

A new corpus is one reader file, one entry here, and one row in docs/corpora.md.
"""

from __future__ import annotations

from harken.corpora.base import Corpus, Download
from harken.corpora.dailydialog import read_dailydialog
from harken.corpora.empathetic_intents import read_empathetic_intents
from harken.corpora.empatheticdialogues import read_empatheticdialogues
from harken.corpora.empathy_mental_health import read_empathy_mental_health
from harken.corpora.esconv import read_esconv
from harken.corpora.meld import read_meld
from harken.corpora.newsgroups20 import read_newsgroups20
from harken.corpora.own import read_own
from harken.corpora.pec import read_pec
from harken.corpora.starter import read_starter

STARTER = "starter"
OWN = "own"

_ENTRIES = (
    Corpus(
        name=STARTER,
        title="Starter: dialogues written for harken",
        citation="The harken authors",
        licence="CC BY 4.0",
        read=read_starter,
        expects="nothing: it is always there",
    ),
    Corpus(
        name="empatheticdialogues",
        title="EmpatheticDialogues: situations of 32 emotions, talked over",
        citation="Rashkin et al. 2019",
        licence="CC BY-NC 4.0",
        read=read_empatheticdialogues,
        expects="empatheticdialogues.tar.gz, or a folder with train.csv, valid.csv and test.csv",
        download=Download(
            url="https://dl.fbaipublicfiles.com/parlai/empatheticdialogues/empatheticdialogues.tar.gz",
            sha256="56f234d77b7dd1f005fd365bb17769cfe346c3c84295b69bc069c8ccb83be03d",
        ),
    ),
    Corpus(
        name="empathetic_intents",
        title="EmpatheticIntents: texts with an emotion or intent each",
        citation="Welivita and Pu 2020",
        licence="none stated",
        read=read_empathetic_intents,
        expects="the folder of the release, or of its train_data, lexically_extended_intent_data or manual_annotations",
    ),
    Corpus(
        name="empathy_mental_health",
        title="EPITOME (Reddit): support, judged for three kinds of empathy",
        citation="Sharma et al. 2020",
        licence="academic use",
        read=read_empathy_mental_health,
        expects="a folder with emotional-reactions-reddit.csv, interpretations-reddit.csv and explorations-reddit.csv",
    ),
    Corpus(
        name="esconv",
        title="ESConv: emotional support with strategies and survey scores",
        citation="Liu et al. 2021",
        licence="CC BY-NC 4.0",
        read=read_esconv,
        expects="a folder with train.txt, valid.txt and test.txt, or the file ESConv.json or FailedESConv.json",
    ),
    Corpus(
        name="dailydialog",
        title="DailyDialog: everyday conversations with acts and emotions",
        citation="Li et al. 2017",
        licence="CC BY-NC-SA 4.0",
        read=read_dailydialog,
        expects="dailydialog.tar.gz, or the authors' folder with train, validation and test",
        download=Download(
            url="http://parl.ai/downloads/dailydialog/dailydialog.tar.gz",
            sha256="c3adb09bd715b9fa5cd1ac41613b7de61eb5afbe477826a6146abefef573e6bb",
        ),
    ),
    Corpus(
        name="pec",
        title="PEC: conversations with the listener's persona",
        citation="Zhong et al. 2020",
        licence="GPL-3.0, text unclear",
        read=read_pec,
        expects="hf_pec.zip, or a folder with Parquet, JSON or JSON-lines files named after their split",
    ),
    Corpus(
        name="newsgroups20",
        title="20 Newsgroups: posts with their topic",
        citation="Lang 1995",
        licence="none stated",
        read=read_newsgroups20,
        expects="a folder with train.jsonl.gz and test.jsonl.gz",
    ),
    Corpus(
        name="meld",
        title="MELD: scenes of a series with emotions and times",
        citation="Poria et al. 2019",
        licence="GPL-3.0",
        read=read_meld,
        expects="a folder with train_sent_emo.csv, dev_sent_emo.csv and test_sent_emo.csv",
    ),
    Corpus(
        name=OWN,
        title="Your own dialogues, as JSON lines or CSV",
        citation="",
        licence="yours",
        read=read_own,
        expects="a JSON lines file (.jsonl), or a CSV file (.csv) with a column each for dialogue, role and text",
    ),
)
CORPORA: dict[str, Corpus] = {corpus.name: corpus for corpus in _ENTRIES}
"""Every corpus harken can read."""
