"""One look for every picture that matplotlib draws: ink, colours, fonts, and a file of the format its name says."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from harken.errors import HarkenError
from harken.files import atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
INK, PALE, GRID = "#22303c", "#7b8794", "#e3e7eb"
POLARITIES = {"positive": "#e0a43a", "negative": "#4f7ea8"}
SERIES = ("#e0a43a", "#4f7ea8", "#5b8c6a", "#b3523e", "#8a7fb0", "#7b8794")


def styled() -> AbstractContextManager[None]:
    """Figures made inside have text as text, and the same bytes each time."""
    import matplotlib as mpl

    return mpl.rc_context({"font.family": "DejaVu Sans", "svg.fonttype": "none", "svg.hashsalt": "harken"})


def picture_format(path: Path) -> str:
    """What the file's name asks for; an error for a format that cannot be drawn."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise HarkenError(f"{path}: cannot draw '{path.suffix}' files; end the name in .{', .'.join(FORMATS)}")
    return form


def save(figure: Figure, path: Path) -> None:
    """Write a picture whole or not at all."""
    form = picture_format(path)
    metadata = {"Date": None} if form == "svg" else None
    with styled(), atomic(path, "wb") as stream:
        figure.savefig(stream, format=form, dpi=160, facecolor="white", metadata=metadata)
