"""A run: a folder with `config.yaml`, `vocabulary.json`, `weights.safetensors`, `metrics.json`, `log.jsonl` and a card.

`weights.safetensors` are the best weights so far; `checkpoint.pt` is where training stands: one file, one rename.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

import harken
from harken import config as configs
from harken.corpora import library, store
from harken.corpora.starter import starter_dialogues
from harken.dialogue import Dialogue
from harken.errors import HarkenError
from harken.files import atomic
from harken.models import MODELS
from harken.models.contract import Generator
from harken.text.annotations import guided_by
from harken.text.vocabulary import Vocabulary, load_vocabulary
from harken.training.config import RunConfig, build_config

CONFIG, WEIGHTS, CHECKPOINT = "config.yaml", "weights.safetensors", "checkpoint.pt"


@dataclass(frozen=True)
class Run:
    """A trained model with everything it needs to answer."""

    folder: Path
    config: RunConfig
    vocabulary: Vocabulary
    generator: Generator

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name

    def guided_by(self, exemplars: Path) -> Run:
        """The same run with the exemplars of another file."""
        return replace(self, config=replace(self.config, text=guided_by(self.config.text, exemplars)))


def build(config: RunConfig, vocabulary: Vocabulary) -> Generator:
    """The config's model, untrained."""
    return MODELS[config.model].model(config.network, vocabulary)


def load_run(folder: Path, device: torch.device | None = None) -> Run:
    """The run in a folder, with its best weights, ready to answer."""
    if not folder.is_dir():
        raise HarkenError(f"{folder}: there is no such run; train one with: harken train CONFIG --out {folder}")
    config = read_config(folder)
    vocabulary = load_vocabulary(folder)
    generator = build(config, vocabulary)
    weights = read_weights(folder / WEIGHTS, config.model)
    problems = misfits(generator, weights, missing_too=True)
    if problems:
        raise HarkenError(
            f"{folder / WEIGHTS}: does not fit {config.model} as {CONFIG} describes it ({problems[0]}); "
            "it is of another model or another version of harken"
        )
    generator.load_state_dict(weights)
    return Run(folder, config, vocabulary, generator.to(device or torch.device("cpu")).eval())


def read_config(folder: Path) -> RunConfig:
    """The config a run was trained with."""
    path = folder / CONFIG
    if not path.exists():
        raise HarkenError(f"{folder}: is not a run, it has no {CONFIG}")
    return build_config(configs.parse(path.read_text(encoding="utf-8"), str(path)), str(path))


def write_config(folder: Path, config: object) -> None:
    """Write the config into a run folder, every default spelled out."""
    with atomic(folder / CONFIG) as stream:
        stream.write(configs.dump(config))


def write_weights(path: Path, generator: nn.Module, model: str) -> None:
    """Write the weights; tied tables are written once for each name, so that any reader finds them."""
    tensors = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in generator.state_dict().items()}
    with atomic(path, "wb") as stream:
        stream.write(to_bytes(tensors, metadata={"model": model, "harken": harken.__version__}))


def read_weights(path: Path, model: str) -> dict[str, Tensor]:
    """The weights in a file; those of another model are an error."""
    try:
        with safe_open(path, framework="pt") as file:
            written_by = (file.metadata() or {}).get("model")
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except FileNotFoundError as problem:
        raise HarkenError(f"{path}: there is no such file; has the run been validated once?") from problem
    except (SafetensorError, OSError) as problem:
        raise HarkenError(f"{path}: is not a whole safetensors file ({problem})") from problem
    if written_by != model:
        raise HarkenError(f"{path}: holds weights of {written_by or 'an unknown model'}, not of {model}")
    return weights


def misfits(generator: nn.Module, weights: Mapping[str, Tensor], *, missing_too: bool) -> list[str]:
    """What keeps weights from fitting a generator, in words."""
    own = generator.state_dict()
    found = [f"it has '{name}', which the model has not" for name in weights if name not in own]
    for name, tensor in own.items():
        if name in weights and weights[name].shape != tensor.shape:
            found.append(f"'{name}' is {tuple(weights[name].shape)}, the model's is {tuple(tensor.shape)}")
        elif missing_too and name not in weights:
            found.append(f"it lacks '{name}'")
    return found


def write_checkpoint(folder: Path, content: dict[str, Any]) -> None:
    """Write where training stands, whole or not at all."""
    with atomic(folder / CHECKPOINT, "wb") as stream:
        torch.save(content | {"harken": harken.__version__}, stream)


def read_checkpoint(folder: Path, config: object) -> dict[str, Any]:
    """Where training stood; a checkpoint made under another config is an error."""
    path = folder / CHECKPOINT
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as problem:
        raise HarkenError(f"{path}: there is no checkpoint to resume; leave out --resume to begin") from problem
    except Exception as problem:  # unpickling raises many kinds
        raise HarkenError(f"{path}: is not a checkpoint of this version of harken ({problem})") from problem
    if not _made_under(str(content.get("config")), config):
        raise HarkenError(
            f"{path}: was made under another config; resume with the settings in {folder / CONFIG}, "
            "or train into another folder with --out"
        )
    return content


def _made_under(text: str, config: object) -> bool:
    """Whether a checkpoint's config is this one; what a later version of harken can set besides has its default there."""
    try:
        return bool(configs.build(type(config), configs.parse(text, CHECKPOINT)) == config)
    except HarkenError:
        return False


def transfer(generator: Generator, vocabulary: Vocabulary, earlier: Path) -> str:
    """Begin with an earlier run's weights; rows of the word tables move by word. Gives a line for the log."""
    config = read_config(earlier)
    words = load_vocabulary(earlier)
    weights = read_weights(earlier / WEIGHTS, config.model)
    old = {token: number for number, token in enumerate(words.tokens)}
    pairs = [(number, old[token]) for number, token in enumerate(vocabulary.tokens) if token in old]
    here, there = torch.tensor(pairs).t()
    own = generator.state_dict()
    for name, tensor in weights.items():
        if name in own and (len(words), *own[name].shape[1:]) == tensor.shape and own[name].shape[0] == len(vocabulary):
            weights[name] = own[name].clone().index_copy_(0, here, tensor[there])
    problems = misfits(generator, weights, missing_too=False)
    if problems:
        raise HarkenError(f"{earlier}: cannot be started from, its {config.model} is built otherwise ({problems[0]})")
    fresh = generator.load_state_dict(weights, strict=False).missing_keys
    new = f", new: {', '.join(dict.fromkeys(name.partition('.')[0] for name in fresh))}" if fresh else ""
    return f"started from {earlier}: {len(weights)} tensors, {len(pairs):,} of {len(vocabulary):,} words{new}"


def read_corpus(name: str) -> list[Dialogue]:
    """The dialogues of the starter corpus or of one in the data home."""
    return starter_dialogues() if name == "starter" and name not in store.stored() else store.load(name)


def corpus_sha256(name: str) -> str:
    """What identifies the content of a corpus."""
    return library.manifest(name).sha256
