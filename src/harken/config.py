"""YAML into frozen dataclasses: every mistake reported at once, with suggestions.

    @dataclass(frozen=True, kw_only=True)
    class MoelConfig:
        n_heads: int = 2
        top_k: int | None = 5

        def problems(self) -> Iterator[str]:
            if self.top_k is not None and not 1 <= self.top_k <= 32:
                yield f"top_k = {self.top_k} must lie in 1..32, or be null to use every listener"

`load(MoelConfig, path, ["n_heads=4"])` gives the config, or one `HarkenError` that lists unknown keys, missing keys, wrong
types and whatever `problems` yields. Fields may be bool, int, float, str, Path, Literal, optional and union types, tuples,
lists, dicts and further dataclasses.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import yaml

from harken.errors import HarkenError, did_you_mean

T = TypeVar("T")


def load(cls: type[T], path: Path, overrides: Iterable[str] = ()) -> T:
    """The config in a YAML file, with `key=value` overrides (dots reach into nested configs) laid over it."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as problem:
        raise HarkenError(f"{path}: there is no such config file") from problem
    except UnicodeDecodeError as problem:
        raise HarkenError(f"{path}: not UTF-8; convert the file to UTF-8") from problem
    return build(cls, with_overrides(parse(text, str(path)), overrides), str(path))


def parse(text: str, where: str) -> dict[str, Any]:
    """The mapping written in YAML `text`; nothing at all is an empty mapping."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise HarkenError(f"{where}{line}: not YAML ({getattr(problem, 'problem', None) or problem})") from problem
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise HarkenError(f"{where}: must hold 'key: value' lines, not a {type(value).__name__}")
    return value


def with_overrides(values: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """`values` with each `key=value` (or `part.key=value`) laid over it; the value is read as YAML."""
    result = dict(values)
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key.strip():
            raise HarkenError(f"--set {override}: write it as key=value")
        *parents, last = key.strip().split(".")
        place = result
        for parent in parents:
            inner = place.get(parent)
            place[parent] = dict(inner) if isinstance(inner, dict) else {}
            place = place[parent]
        try:
            place[last] = yaml.safe_load(text)
        except yaml.YAMLError as problem:
            raise HarkenError(f"--set {override}: the value is not YAML") from problem
    return result


def build(cls: type[T], values: Mapping[str, Any], where: str = "config") -> T:
    """The dataclass made of `values`; all mistakes in one error."""
    mistakes: list[str] = []
    result = _dataclass(cls, values, "", mistakes)
    if mistakes:
        raise HarkenError("\n  ".join([f"{where}: cannot build {cls.__name__}", *mistakes]))
    return cast(T, result)


def dump(config: object) -> str:
    """The config as YAML that `build` reads back to an equal one."""
    return yaml.safe_dump(_plain(config), sort_keys=False, allow_unicode=True)


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, Path) else value


_WRONG = object()
"""Stands for a value whose mistake is already noted."""


def _dataclass(cls: type, values: Mapping[str, Any], prefix: str, mistakes: list[str]) -> object:
    hints = get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    for key in values:
        if key not in fields:
            mistakes.append(f"unknown key '{prefix}{key}'{did_you_mean(str(key), fields)}")
    given = {name: _convert(values[name], hints[name], prefix + name, mistakes) for name in fields if name in values}
    wrong = [name for name, value in given.items() if value is _WRONG]
    required = [name for name, field in fields.items() if field.default is field.default_factory]  # both are MISSING
    mistakes.extend(f"key '{prefix}{name}' is missing" for name in required if name not in given)
    if any(given.get(name, _WRONG) is _WRONG for name in required):
        return _WRONG
    result = cls(**{name: value for name, value in given.items() if name not in wrong})
    if hasattr(result, "problems"):  # what is wrong stands at its default here; a problem that names it is none
        noted = (problem for problem in result.problems() if not any(name in problem for name in wrong))
        mistakes.extend(prefix + problem for problem in noted)
    return _WRONG if wrong else result


def _convert(value: Any, hint: Any, name: str, mistakes: list[str]) -> Any:
    """`value` as the type `hint`, or `_WRONG` with the mistake noted."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _union(value, arguments, name, mistakes)
    if origin is Literal:
        if value in arguments:
            return value
        choices = ", ".join(str(choice) for choice in arguments)
        return _wrong(
            mistakes, f"{name} = {value!r} must be one of {choices}{did_you_mean(str(value), map(str, arguments))}"
        )
    if origin in (tuple, list):
        return _sequence(value, origin, arguments, name, mistakes)
    if origin is dict:
        if not isinstance(value, Mapping):
            return _wrong(mistakes, f"{name} = {value!r} must be a mapping")
        inner = {key: _convert(item, arguments[1], f"{name}.{key}", mistakes) for key, item in value.items()}
        return _WRONG if any(item is _WRONG for item in inner.values()) else inner
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            return _wrong(mistakes, f"{name} = {value!r} must be a mapping with the keys of {hint.__name__}")
        return _dataclass(hint, value, f"{name}.", mistakes)
    return _scalar(value, hint, name, mistakes)


def _union(value: Any, choices: tuple[Any, ...], name: str, mistakes: list[str]) -> Any:
    if value is None and type(None) in choices:
        return None
    attempts: list[list[str]] = []
    for choice in choices:
        if choice is type(None):
            continue
        noted: list[str] = []
        result = _convert(value, choice, name, noted)
        if result is not _WRONG and not noted:
            return result
        attempts.append(noted)
    mistakes.extend(attempts[0] if len(attempts) == 1 else [f"{name} = {value!r} must be {_spell(choices)}"])
    return _WRONG


def _sequence(value: Any, kind: type, arguments: tuple[Any, ...], name: str, mistakes: list[str]) -> Any:
    if not isinstance(value, list | tuple):
        return _wrong(mistakes, f"{name} = {value!r} must be a list")
    if kind is tuple and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            return _wrong(mistakes, f"{name} = {value!r} must have {len(arguments)} entries")
        hints = list(arguments)
    else:
        hints = [arguments[0]] * len(value)
    items = [
        _convert(item, hint, f"{name}[{i}]", mistakes) for i, (item, hint) in enumerate(zip(value, hints, strict=True))
    ]
    return _WRONG if any(item is _WRONG for item in items) else kind(items)


def _scalar(value: Any, hint: Any, name: str, mistakes: list[str]) -> Any:
    if hint is Any:
        return value
    if hint is Path and isinstance(value, str):
        return Path(value)
    if hint is float and isinstance(value, str):  # YAML 1.1 reads 1e-4 as a string
        try:
            return float(value)
        except ValueError:
            pass
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    return _wrong(mistakes, f"{name} = {value!r} must be {_spell((hint,))}")


_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    Path: "a path",
    type(None): "null",
}


def _spell(hints: Iterable[Any]) -> str:
    return " or ".join(
        ", ".join(map(str, get_args(hint)))
        if get_origin(hint) is Literal
        else _WORDS.get(hint, getattr(hint, "__name__", str(hint)))
        for hint in hints
    )


def _wrong(mistakes: list[str], mistake: str) -> object:
    mistakes.append(mistake)
    return _WRONG
