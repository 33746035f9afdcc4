"""`harken reply`: replies of a run for a whole split, as a reply file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def reply(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    split: Annotated[str, typer.Option(help="train, valid or test.")] = "test",
    out: Annotated[
        Path | None, typer.Option(help="The file; RUN/replies-SPLIT[-INTENT][-EXEMPLARS].jsonl by default.")
    ] = None,
    beam: Annotated[int, typer.Option(help="Hypotheses of the beam; 1 is greedy.")] = 1,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="key=value for decoding, e.g. no_repeat=3 or sample=true; repeatable."),
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="Another corpus than the run was trained on.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many responses.")] = None,
    intent: Annotated[
        str | None, typer.Option(help="What all replies shall be, e.g. encouraging, for a run that can be asked.")
    ] = None,
    likelihoods: Annotated[
        bool, typer.Option("--likelihoods", help="Write how likely the gold responses are, instead of replies.")
    ] = False,
    oracle: Annotated[
        bool, typer.Option("--oracle", help="Let the model see gold emotions (published protocol).")
    ] = False,
    exemplars: Annotated[
        Path | None,
        typer.Option(help="An exemplar file in place of the run's own (harken retrieve).", show_default=False),
    ] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="With --likelihoods: a run whose smaller vocabulary they shall be in.", show_default=False),
    ] = None,
) -> None:
    """Write the replies of a run for a split; interrupted, it goes on where it stopped."""
    from functools import partial

    from harken import config as configs
    from harken.cli.progress import counted
    from harken.decoding.replies import write_replies
    from harken.decoding.search import DecodingConfig
    from harken.errors import HarkenError
    from harken.labels import label
    from harken.listeners import retrieval
    from harken.retrieval.config import is_ranker
    from harken.text.vocabulary import load_vocabulary
    from harken.training.likelihoods import write_likelihoods
    from harken.training.run import load_run

    what = "likelihoods" if likelihoods else "replies"
    steered = "" if intent is None else f"-{label(intent).name}"
    guided = "" if exemplars is None else f"-{exemplars.stem}"
    target = out or run / f"{what}-{split}{steered}{guided}.jsonl"
    if vocabulary and not likelihoods:
        raise HarkenError("--vocabulary is the one likelihoods are told in; add --likelihoods or leave it out")
    with counted("Reading" if likelihoods else "Replying") as started:
        if is_ranker(run):
            if likelihoods or oracle or beam != 1 or changes or intent or exemplars:
                raise HarkenError(
                    f"{run}: a ranker chooses replies; it has no likelihoods, beam, oracle, intent, exemplars or decoding"
                )
            count = retrieval.write_replies(run, split, target, corpus=corpus, limit=limit, started=started)
        else:
            if intent and (likelihoods or oracle):
                raise HarkenError("--intent asks for replies of one label; leave out --likelihoods and --oracle")
            decoding = configs.build(
                DecodingConfig, configs.with_overrides({"beam": beam}, changes or ()), "harken reply"
            )
            within = load_vocabulary(vocabulary) if vocabulary else None
            write = (
                partial(write_likelihoods, within=within)
                if likelihoods
                else partial(write_replies, config=decoding, intent=intent)
            )
            used = load_run(run).guided_by(exemplars) if exemplars else load_run(run)
            count = write(used, split, target, corpus=corpus, limit=limit, oracle=oracle, started=started)
    typer.echo(f"{count:,} {what} in {target}")
