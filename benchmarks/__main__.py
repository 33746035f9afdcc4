"""`python -m benchmarks [NAME ...]`: run the named measures, or all, and write what came out."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import benchmarks
from harken.files import atomic
from harken.runtime import machine

HERE = Path(__file__).parent


def commit() -> str:
    """The commit measured, as git names it in short."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, cwd=HERE, check=True).stdout.strip()


def readable(value: float) -> str:
    """Four digits, or all of a large number's before the point."""
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"


def main(names: list[str]) -> None:
    names_here = (module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name != "__main__")
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in names_here}
    known = sorted(name for name, module in modules.items() if hasattr(module, "run"))  # the others are tools
    for name in names or known:
        if name not in known:
            sys.exit(f"there is no benchmark '{name}'; known: {', '.join(known)}")
        print(f"{name} …", file=sys.stderr)
        module = modules[name]
        rows = [f"| {what} | {readable(value)} | {unit} |" for what, value, unit in module.run()]
        head = (
            f"# {name}\n\n`python -m benchmarks {name}`, {datetime.now(UTC):%Y-%m-%d}, commit {commit()}, {machine()}.\n\n"
            f"{(module.__doc__ or '').strip()}\n\n| measure | value | unit |\n|---|---|---|\n"
        )
        print(head + "\n".join(rows) + "\n")
        with atomic(HERE / "results" / f"{name}.md") as stream:
            stream.write(head + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
