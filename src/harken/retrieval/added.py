"""What a ranker may have beside its encoders: the layer of an ensemble, and the one that tells emotions."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from harken.errors import HarkenError
from harken.labels import EMOTIONS
from harken.retrieval.config import RankerConfig
from harken.retrieval.ensemble import Ensemble
from harken.training import run as runs

MODEL = "ranker"


class Added(nn.Module):
    """Each None, and without weights, unless the config wants it."""

    def __init__(self, config: RankerConfig, width: int, sides: int) -> None:
        super().__init__()
        self.ensemble = None if config.ensemble is None else Ensemble(config.ensemble, width, sides)
        self.emotions = None if config.emotion_weight is None else nn.Linear(width, len(EMOTIONS))


def fill(module: nn.Module, path: Path, added: str, *, anew: bool) -> None:
    """Read weights into a module; `anew` leaves what is added (by its prefix) as it is where only one of them has it."""
    weights, own = runs.read_weights(path, MODEL), module.state_dict()
    if anew:
        common = {name: tensor for name, tensor in weights.items() if name in own or not name.startswith(added)}
        weights = {name: tensor for name, tensor in own.items() if name.startswith(added)} | common
    ensemble = f"{added}ensemble"
    if f"{ensemble}._extra_state" in own.keys() & weights.keys():  # says more than that the shapes differ
        module.get_submodule(ensemble).set_extra_state(weights[f"{ensemble}._extra_state"])
    problems = runs.misfits(module, weights, missing_too=True)
    if problems:
        raise HarkenError(f"{path}: does not fit its config.yaml ({problems[0]})")
    module.load_state_dict(weights)
