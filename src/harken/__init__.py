"""harken: one toolkit for empathetic response generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from harken.listeners import load_listener

__all__ = ["__version__", "load_listener"]


def __getattr__(name: str) -> object:
    """Heavy parts load when first asked for, so that `import harken` and `harken --help` are quick."""
    if name == "load_listener":
        from harken.listeners import load_listener

        return load_listener
    raise AttributeError(f"module 'harken' has no attribute '{name}'")
