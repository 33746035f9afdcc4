"""Imports point leftwards in docs/architecture.md, and heavy libraries stay out of the command line's start."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "harken"
ORDER = (
    "errors", "labels", "files", "label_files", "exemplar_files", "pictures", "dialogue", "config", "runtime",
    "corpora", "text", "models", "training", "decoding", "classifiers", "curation", "retrieval",
    "listeners", "recipes", "scoring", "study", "serving", "cli",
)  # fmt: skip


def layer(module: str) -> int | None:
    part = module.removeprefix("harken").lstrip(".").split(".")[0]
    return ORDER.index(part) if part in ORDER else None


def imports(path: Path) -> set[str]:
    """Every harken module that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" if node.module == "harken" else node.module for alias in node.names}
    return {name for name in found if name.split(".")[0] == "harken"}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    own = layer(".".join(("harken", *path.relative_to(SOURCE).with_suffix("").parts)))
    if own is None:  # the package itself and python -m harken stand outside the layers
        return
    later = {name for name in imports(path) if (there := layer(name)) is not None and there > own}
    assert not later, f"{path.name} imports from its right: {sorted(later)}"


def test_every_module_has_a_layer() -> None:
    parts = {
        p.stem if p.is_file() else p.name for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    assert parts - {"__init__", "__main__"} <= set(ORDER)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, harken.cli; print([m for m in ('torch', 'transformers', 'numpy', 'pyarrow') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
