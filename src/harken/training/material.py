"""What a run trains on and with: the corpus as numbers, the vocabulary, the untrained or started generator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harken.dialogue import ROLES, SPLITS, Dialogue, Example, Split, examples, opened_by_situation
from harken.errors import HarkenError
from harken.models.contract import Generator
from harken.runtime import seed_everything
from harken.text.annotations import annotator
from harken.text.batches import NO_EMOTION, NO_LABEL, Encoded, encode_dialogues
from harken.text.vectors import read_vectors
from harken.text.vocabulary import Vocabulary, Words, build_vocabulary, load_vocabulary
from harken.training import run as runs
from harken.training.config import RunConfig


@dataclass(frozen=True)
class Material:
    """Everything the loop needs."""

    vocabulary: Vocabulary
    rows: dict[Split, list[Encoded]]
    valid: list[Example]
    """The validation examples, for sample replies."""
    generator: Generator


def gather(config: RunConfig, folder: Path, *, resumed: bool, note: Callable[[str], None]) -> Material:
    """Read the corpus and build vocabulary and generator; `note` hears what was found.

    A resumed run has its vocabulary and weights already, so vectors and the run it started from are not read again.
    """
    dialogues = runs.read_corpus(config.corpus)
    vocabulary = load_vocabulary(folder) if resumed else _vocabulary(config, dialogues)
    labelled = annotator(config.text, runs.corpus_sha256(config.corpus))
    parts = {split: [dialogue for dialogue in dialogues if dialogue.split == split] for split in SPLITS}
    rows = {split: encode_dialogues(part, vocabulary, config.text, labelled=labelled) for split, part in parts.items()}
    if config.text.both_sides:
        rows["train"] = encode_dialogues(parts["train"], vocabulary, config.text, roles=ROLES, labelled=labelled)
    if config.text.situations:
        openings = filter(None, map(opened_by_situation, parts["train"]))
        rows["train"] += encode_dialogues(openings, vocabulary, config.text)
    needed: tuple[Split, ...] = ("train", "valid")
    for split in needed:
        if not rows[split]:
            raise HarkenError(
                f"the corpus '{config.corpus}' has no listener turn in its {split} split; it cannot train"
            )
    counts = ", ".join(f"{split} {len(part):,}" for split, part in rows.items())
    note(f"{config.corpus}: {counts} responses; vocabulary of {len(vocabulary):,} tokens")
    seed_everything(config.runtime.seed)
    generator = runs.build(config, vocabulary)
    if generator.needs_emotion:
        for split in needed:
            if all(row.emotion == NO_EMOTION for row in rows[split]):
                raise HarkenError(
                    f"the corpus '{config.corpus}' has no emotion labels in its {split} split, and {config.model} "
                    "learns from them; choose a labelled corpus or the model transformer"
                )
    begun = None if resumed else generator.begin(vocabulary)
    if begun:
        note(begun)
    if generator.reads_labels and all(row.label == NO_LABEL for row in rows["train"]):
        note("no response has a label, so none is learnt to be chosen; name labels of every turn as text.turn_labels")
    if config.text.vectors is not None and isinstance(vocabulary, Words) and not resumed:
        note(load_vectors(generator, vocabulary, config.text.vectors))
    if config.start_from is not None and not resumed:
        note(runs.transfer(generator, vocabulary, config.start_from))
    valid = [example for dialogue in parts["valid"] for example in examples(dialogue, config.text.history)]
    return Material(vocabulary, rows, list(map(labelled, valid)) if labelled else valid, generator)


def _vocabulary(config: RunConfig, dialogues: list[Dialogue]) -> Vocabulary:
    """The earlier run's byte pairs when it starts from one, else a vocabulary built now."""
    if config.start_from is not None and config.text.kind == "bpe":
        return load_vocabulary(config.start_from)
    return build_vocabulary(dialogues, config.text)


def load_vectors(generator: Generator, vocabulary: Words, path: Path) -> str:
    """Begin with word vectors, brought to the table's own scale where it also makes the logits; gives the coverage."""
    table = generator.embedding.weight
    vectors = read_vectors(path, vocabulary, table.shape[1])
    tied = generator.output.weight is table
    scale = table.std() / vectors.rows.std() if tied else 1.0
    table.data[vectors.ids] = vectors.rows * scale
    return str(vectors)
