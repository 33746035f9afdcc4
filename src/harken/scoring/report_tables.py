"""The report's tables: figures with intervals, tests and signatures; published figures; what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from harken.scoring.compare import ALPHA, Comparison, System, number
from harken.scoring.metrics import METRICS
from harken.scoring.report_charts import Bar, bars
from harken.scoring.score import Score

COLOURS = 7
_WORDS = {"higher": "higher is better", "lower": "lower is better", "neither": "neither high nor low is better"}
_TITLES = {
    "ppl-token": "perplexity per token",
    "ppl-utterance": "perplexity, mean of utterances",
    "ppl-word": "perplexity per word",
    "bits-per-character": "bits per character",
    "parameters": "size of the model",
}
_ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}


def better(metric: str) -> str:
    """Which direction is better: of perplexities and bits the lower, of parameters neither."""
    if metric in METRICS:
        return METRICS[metric].better
    return "neither" if metric == "parameters" else "lower"


def title(metric: str) -> str:
    """A few words for the metric."""
    plain = metric.removesuffix("-oracle")
    words = METRICS[plain].title if plain in METRICS else _TITLES[plain]
    return words if plain == metric else f"{words}, given gold labels"


def summary(comparison: Comparison) -> str:
    """One row a metric, one column a system, the signature last."""
    heads = [
        f'<span class="swatch s{place % COLOURS}"></span>{escape(system.name)}{_subtitle(system, comparison)}'
        for place, system in enumerate(comparison.systems)
    ]
    rows = (_row(comparison, metric) for metric in comparison.metrics)
    return _table("All figures", ["metric", *heads, "signature"], rows, "figures")


def _table(label: str, heads: Iterable[str], rows: Iterable[str], style: str = "") -> str:
    """A table that scrolls inside its box where the page is narrow."""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return scroll(label, f'<table class="{style}"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>')


def scroll(label: str, content: str) -> str:
    """A box of its own for what may be wider than the page; the keyboard can scroll it."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">{content}</div>'


def _subtitle(system: System, comparison: Comparison) -> str:
    words = []
    if len(system.sources) > 1:
        words.append(f"{len(system.sources)} seeds")
    if system.name == comparison.baseline and len(comparison.systems) > 1:
        words.append("baseline")
    return f"<small>{', '.join(words)}</small>" if words else ""


def _row(comparison: Comparison, metric: str) -> str:
    cells = "".join(_cell(system, metric) for system in comparison.systems)
    # How many seeds a system has stands in the head of its column.
    found = dict.fromkeys(
        system.scores[metric].signature.partition("|seeds:")[0]
        for system in comparison.systems
        if metric in system.scores
    )
    signatures = "<br>".join(f"<code>{escape(one).replace('|', '|<wbr>')}</code>" for one in found)
    direction = better(metric)
    return (
        f'<tr><th scope="row"><span class="metric">{escape(metric)}</span> '
        f'<abbr title="{_WORDS[direction]}">{_ARROWS[direction]}</abbr><small>{escape(title(metric))}</small></th>'
        f'{cells}<td class="signature">{signatures}</td></tr>'
    )


def _cell(system: System, metric: str) -> str:
    score = system.scores.get(metric)
    if score is None:
        return f'<td title="{escape(system.left_out.get(metric, "not measured"))}">–</td>'
    value = f"<b>{number(score, score.value)}</b>{spread(score)}{mark(system, metric)}"
    return f'<td title="{escape(tip(system, metric))}">{value}</td>'


def spread(score: Score) -> str:
    """The interval, or the standard deviation over seeds, as a second line."""
    if score.extras.get("sd") is not None:
        return f"<small>± {number(score, score.extras['sd'])}</small>"
    if score.low is None or score.high is None:
        return ""
    return f"<small>{number(score, score.low)} – {number(score, score.high)}</small>"


def verdict(system: System, metric: str) -> str:
    """`better`, `worse` or `differs` where the difference from the baseline is significant, else nothing."""
    if not system.differs(metric):
        return ""
    direction = better(metric)
    if direction == "neither":
        return "differs"
    return "better" if (system.differences[metric].difference > 0) == (direction == "higher") else "worse"


def mark(system: System, metric: str) -> str:
    """The verdict as a tag; sign and word say what its colour says."""
    word = verdict(system, metric)
    signs = {"better": "▲", "worse": "▼", "differs": "◆"}
    return f'<span class="mark {word}">{signs[word]} {word}</span>' if word else ""


def tip(system: System, metric: str) -> str:
    """All that is known of a figure, for a tooltip."""
    score = system.scores[metric]
    words = [f"{system.name}: {metric} = {number(score, score.value)}, n = {score.n:,}"]
    if "values" in score.extras:
        words.append("seeds: " + ", ".join(number(score, value) for value in score.extras["values"]))
    if score.low is not None and score.high is not None:
        words.append(f"95 % interval {number(score, score.low)} to {number(score, score.high)}")
    if metric in system.differences:
        one = system.differences[metric]
        ends = f"{number(score, one.low)} to {number(score, one.high)}"
        words.append(f"minus baseline: {number(score, one.difference)} ({ends}), p = {one.p:.3g}")
    return "; ".join(words)


def charts(comparison: Comparison) -> str:
    """A card of bars for every metric, with the published figures that compare."""
    return "".join(_card(comparison, metric) for metric in comparison.metrics)


def _card(comparison: Comparison, metric: str) -> str:
    rows = []
    for place, system in enumerate(comparison.systems):
        if (score := system.scores.get(metric)) is not None:
            sign = {"better": " ▲", "worse": " ▼", "differs": " ◆", "": ""}[verdict(system, metric)]
            shown = number(score, score.value) + sign
            rows.append(
                Bar(
                    name=system.name,
                    value=score.value,
                    low=score.low,
                    high=score.high,
                    shown=shown,
                    tip=tip(system, metric),
                    colour=place % COLOURS,
                )
            )
    for figure in comparison.published.figures:
        if figure.metric == metric:
            reach = figure.spread
            rows.append(
                Bar(
                    name=f"{figure.system} ({figure.paper.partition('(')[2]}",
                    value=figure.value,
                    low=None if reach is None else figure.value - reach,
                    high=None if reach is None else figure.value + reach,
                    shown=figure.shown(),
                    tip=f"{figure.system}: {figure.paper}, {figure.table}; {figure.protocol}",
                    colour=None,
                )
            )
    caption = f"<b>{escape(metric)}</b> <span>{escape(title(metric))}, {_WORDS[better(metric)]}</span>"
    return card(caption, bars(f"{metric}: {title(metric)}", rows))


def card(caption: str, chart: str, style: str = "card") -> str:
    """A chart with its caption."""
    return f'<figure class="{style}"><figcaption>{caption}</figcaption>{chart}</figure>'


def published(comparison: Comparison) -> str:
    """The published figures that compare, then those that do not and why."""
    found = comparison.published
    words = "No published figure has the definition, the tokens and the number of turns of the figures above."
    table = ""
    if found.figures:
        words = (
            "These were printed for EmpatheticDialogues with the same definition, the same tokens and the same number of "
            "test turns; they compare if the replies above answer that test set."
        )
        rows = (
            f'<tr><th scope="row">{escape(one.metric)}</th><td><b>{one.shown()}</b></td><td>{escape(one.system)}</td>'
            f"<td>{escape(one.paper)}, {escape(one.table)}</td><td>{escape(one.protocol)}</td></tr>"
            for one in found.figures
        )
        table = _table("Published figures", ("metric", "value", "system", "source", "protocol"), rows, "printed")
    items = "".join(
        f"<li><b>{escape(part.metric)}</b>, {escape(part.paper)}, {part.group}: {escape(part.reason)}. "
        f"<small>{escape('; '.join(f'{one.system} {one.shown()}' for one in part.figures))}</small></li>"
        for part in found.apart
    )
    count = sum(len(part.figures) for part in found.apart)
    summed = f"<summary>{count} published figures that do not compare, and why</summary>"
    return f"<p>{words}</p>{table}<details>{summed}<ul>{items}</ul></details>"


def notes(comparison: Comparison) -> str:
    """How figures were made and what was left out, as a list."""
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in _notes(comparison)) + "</ul>"


def _notes(comparison: Comparison) -> Iterator[str]:
    resamples = comparison.options.resamples
    if resamples.samples:
        yield (
            f"Intervals: {resamples.level:.0%}, from {resamples.samples:,} bootstrap samples (of halves for Distinct "
            f"and other counts of different things), seed {resamples.seed}."
        )
    if any(system.differences for system in comparison.systems):
        yield (
            f"▲ better, ▼ worse, ◆ different than {comparison.baseline}, p < {ALPHA}: {comparison.test_words()}. "
            "Among twenty such marks one is expected by chance alone."
        )
    if any(len(system.sources) > 1 for system in comparison.systems):
        yield (
            "Several seeds: the mean with the standard deviation over seeds; the interval is Student's over seeds, the "
            "test is of the mean on these examples."
        )
    yield from comparison.notes
    for system in comparison.systems:
        files = ", ".join(str(source.path) for source in system.sources)
        bad = f"; {system.bad_lines:,} bad lines left out" if system.bad_lines else ""
        yield f"{system.name}: {files}{bad}"
    left_out = {name: reason for system in comparison.systems for name, reason in system.left_out.items()}
    for name, reason in left_out.items():
        yield f"Not measured: {name}: {reason}."
