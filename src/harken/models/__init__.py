"""One paper, one file; one table of them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harken.models.contract import Generator, State
from harken.models.empdg import Empdg, EmpdgConfig
from harken.models.layers import Shape
from harken.models.lempex import Lempex, LempexConfig
from harken.models.meed2 import Meed2, Meed2Config
from harken.models.mime import Mime, MimeConfig
from harken.models.moel import Moel, MoelConfig
from harken.models.t5 import T5, T5Config
from harken.models.transformer import MultiTr, MultiTrConfig, Transformer, TransformerConfig

__all__ = ["MODELS", "Entry", "Generator", "State"]


@dataclass(frozen=True)
class Entry:
    """One line of the table: what to configure, what to build, whom to cite, how it is trained."""

    config: type[Shape]
    model: type[Generator]
    citation: str
    loop: Literal["likelihood", "adversarial"] = "likelihood"
    """The page of `training` that trains it: loop.py, or the game of adversarial.py."""


MODELS: dict[str, Entry] = {
    "transformer": Entry(TransformerConfig, Transformer, "Vaswani et al. 2017; Rashkin et al. 2019"),
    "multi-tr": Entry(MultiTrConfig, MultiTr, "Rashkin et al. 2018; Lin et al. 2019"),
    "moel": Entry(MoelConfig, Moel, "Lin et al. 2019"),
    "mime": Entry(MimeConfig, Mime, "Majumder et al. 2020"),
    "t5": Entry(T5Config, T5, "Raffel et al. 2020"),
    "lempex": Entry(LempexConfig, Lempex, "Majumder et al. 2022"),
    "empdg": Entry(EmpdgConfig, Empdg, "Li et al. 2020", loop="adversarial"),
    "meed2": Entry(Meed2Config, Meed2, "Xie and Pu 2021"),
}
