"""Stages: folders named after the hash of what they are made from, so that what is there need not be made again.

`NAME-<12 hexadecimal digits>` holds a stage. Its `stage.json` is written last: a folder with one is whole and is reused;
one without is gone on with by whoever makes it. It says what went in and what the output hashes to, which goes into the names
of the stages after it.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harken
from harken.errors import HarkenError
from harken.files import write_json

MANIFEST = "stage.json"


@dataclass(frozen=True)
class Stage:
    """A finished stage."""

    folder: Path
    output: str
    """The hash of what was made."""


@dataclass(frozen=True)
class Stages:
    """Where stages lie, and who hears which are made and which reused."""

    folder: Path
    note: Callable[[str], None]

    def stage(self, name: str, inputs: Mapping[str, Any], make: Callable[[Path], str]) -> Stage:
        """The stage made of these inputs; `make` fills its folder, or goes on filling it, and gives the output's hash."""
        key = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:12]
        folder = self.folder / f"{name}-{key}"
        if (folder / MANIFEST).is_file():
            self.note(f"{name}: reuses {folder}")
            return Stage(folder, _output(folder))
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise HarkenError(
                f"{folder}: this stage is still to be made, by one process; run harken train without torchrun first"
            )
        self.note(f"{name}: {'goes on in' if folder.exists() else 'makes'} {folder}")
        began = time.monotonic()
        folder.mkdir(parents=True, exist_ok=True)
        output = make(folder)
        about = {"stage": name, "inputs": inputs, "output": output, "harken": harken.__version__}
        write_json(folder / MANIFEST, about | {"seconds": round(time.monotonic() - began, 1)})
        return Stage(folder, output)


def _output(folder: Path) -> str:
    try:
        return str(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["output"])
    except (ValueError, KeyError, TypeError) as problem:
        raise HarkenError(f"{folder / MANIFEST}: is damaged; remove {folder} and run the recipe again") from problem
