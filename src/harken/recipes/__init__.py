"""Recipes: one config whose stages are made, or reused, before its generator is trained."""

from __future__ import annotations

from harken.recipes.lempex import prepare, standing

__all__ = ["prepare", "standing"]
