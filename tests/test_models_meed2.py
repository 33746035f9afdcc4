"""MEED2 worked by hand: pooling, the sum of embeddings, which label a reply is written in, who is trained by what."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from torch import Tensor

from harken.dialogue import Dialogue, Turn, examples
from harken.labels import LABELS
from harken.labels import label as label_named
from harken.models.layers import Shape
from harken.models.meed2 import Meed2, Meed2Config
from harken.models.meed2_layers import PostNormEncoderLayer, Representation, segments_of
from harken.models.response_predictor import LabelHead, attention_weights, pooled
from harken.text.batches import NO_LABEL, Batch, Encoded, collate, encode_example
from harken.text.vocabulary import CLS, EOS, SPECIALS, SYS, USR, TextConfig, Words

WORDS = Words(["rain", "sun", "snow", "wind"])
RAIN, SUN, SNOW, WIND = (len(SPECIALS) + i for i in range(4))
SAD, CONSOLING, WISHING = (label_named(name).index for name in ("sad", "consoling", "wishing"))


def network(**values: object) -> Meed2:
    """A small model in which every label has a vector of its own."""
    torch.manual_seed(1)
    small = {"d_model": 12, "depth": 12, "d_inner": 16, "encoder_layers": 2, "decoder_layers": 2, "predictor_layers": 1}
    model = Meed2(Meed2Config(**small | values), WORDS)  # type: ignore[arg-type]
    for part in (model.represent, model.predictor.represent if model.predictor else None):
        if part is not None and part.labels is not None:
            torch.nn.init.normal_(part.labels.weight[1:])
    return model.eval()


def batch(*, label: int | None = None, asked: int = NO_LABEL) -> Batch:
    first = Encoded([CLS, RAIN, SUN], [CLS, USR, USR], [SNOW, EOS], labels=[NO_LABEL, SAD, SAD], label=CONSOLING)
    other = Encoded(
        [CLS, RAIN, SUN, WIND, SNOW, SNOW],
        [CLS, USR, SYS, SYS, USR, USR],
        [SUN, SUN, EOS],
        labels=[NO_LABEL, SAD, WISHING, WISHING, SAD, SAD],
        label=WISHING,
    )
    rows = (first, other)
    return collate([dataclasses.replace(row, label=row.label if label is None else label, asked=asked) for row in rows])


def likelihood(model: Meed2, rows: Batch, *, oracle: bool = False) -> Tensor:
    with torch.inference_mode():
        return model.nll(rows, model.encode(rows, oracle=oracle)).sum(1)


def test_attention_pooling_by_hand() -> None:
    """v·r = ln 1, ln 3 and padding give α = 1/4, 3/4, 0 (Eq. 1); r = 1/4 (0, 8) + 3/4 (ln 3, 4) = (.75 ln 3, 5) (Eq. 2)."""
    states = torch.tensor([[[0.0, 8.0], [math.log(3), 4.0], [99.0, 99.0]]])
    weights = attention_weights(states, torch.tensor([1.0, 0.0]), torch.tensor([[False, False, True]]))
    torch.testing.assert_close(weights, torch.tensor([[0.25, 0.75, 0.0]]))
    torch.testing.assert_close(pooled(states, weights), torch.tensor([[0.75 * math.log(3), 5.0]]))


def test_the_release_weighs_by_tanh_and_pools_the_states_themselves() -> None:
    """With an identity layer the weights are softmax(tanh 0, tanh 1) instead of softmax(0, 1); what is pooled is 0 and 1."""
    head = LabelHead(1, "release")
    torch.nn.init.ones_(head.v)
    torch.nn.init.eye_(head.attending[0].weight)  # type: ignore[index,arg-type]
    torch.nn.init.zeros_(head.attending[0].bias)  # type: ignore[index,arg-type]
    share = math.exp(math.tanh(1)) / (1 + math.exp(math.tanh(1)))
    states = torch.tensor([[[0.0], [1.0]]])
    expected = head.output(torch.tanh(head.hidden(torch.tensor([[share]]))))
    torch.testing.assert_close(head(states, torch.zeros(1, 2, dtype=torch.bool)), expected)


def test_word_position_label_and_segment_add_up() -> None:
    """At position 1, (1 + 10 + 100 + 1000); an unknown label adds nothing; positions beyond the table share the last row."""
    tables = Representation(Shape(d_model=1), 3, labels=True)
    assert tables.labels is not None
    tables.positions.weight.data = torch.tensor([[0.0], [10.0], [20.0]])
    tables.segments.weight.data = torch.tensor([[0.0], [1000.0]])
    tables.labels.weight.data[1 + SAD] = 100.0
    words = torch.ones(1, 4, 1)
    found = tables.summed(words, torch.tensor([[0, 1, 0, 0]]), torch.tensor([[SAD, SAD, NO_LABEL, NO_LABEL]]))
    assert found.flatten().tolist() == [101.0, 1111.0, 21.0, 21.0]
    assert tables.summed(words[:, :1], torch.tensor([[1]]), torch.tensor([[SAD]]), start=1).item() == 1111.0


def test_norms_stand_behind() -> None:
    """What leaves a layer is normed, whatever went in: mean 0 and variance 1 at each position."""
    torch.manual_seed(0)
    layer = PostNormEncoderLayer(Shape(d_model=8, n_heads=2, depth=8, feed_forward="gelu", d_inner=16)).eval()
    pad = torch.zeros(1, 3, dtype=torch.bool)
    found = layer(50 + 9 * torch.randn(1, 3, 8), pad, ~pad[:, None, None, :])
    torch.testing.assert_close(found.mean(-1), torch.zeros(1, 3), atol=1e-5, rtol=0)
    torch.testing.assert_close(found.var(-1, correction=0), torch.ones(1, 3), atol=1e-4, rtol=0)


def test_who_answers_is_known() -> None:
    """Trained on both sides, a reply of the speaker has the speaker's segment."""
    talk = Dialogue("d", (Turn("speaker", "rain"), Turn("listener", "sun"), Turn("speaker", "snow")))
    rows = [encode_example(one, WORDS, TextConfig()) for one in examples(talk, roles=("speaker", "listener"))]
    assert collate(rows).answerer.tolist() == [SYS, USR]
    assert network().encode(collate(rows)).segment.tolist() == [1, 0]
    assert segments_of(torch.tensor([CLS, USR, SYS])).tolist() == [0, 0, 1]


def test_the_predicted_label_is_used_unless_one_is_asked_for() -> None:
    model, rows = network(), batch()
    state = model.encode(rows)
    assert state.label is not None and state.label_logits is not None
    assert torch.equal(state.label, state.label_logits.argmax(1))
    plain = likelihood(model, rows)
    for asked in (SAD, WISHING):
        steered = batch(asked=asked)
        found = model.encode(steered).label
        assert found is not None and found.tolist() == [asked, asked]
        assert not torch.allclose(likelihood(model, steered), plain)
    predicted = dataclasses.replace(rows, asked=state.label)
    torch.testing.assert_close(likelihood(model, predicted), plain)


def test_only_an_oracle_sees_the_gold_label() -> None:
    model, rows, others = network(), batch(), batch(label=SAD)
    assert torch.equal(likelihood(model, rows), likelihood(model, others))
    assert not torch.allclose(likelihood(model, rows, oracle=True), likelihood(model, others, oracle=True))
    gold = model.encode(rows, oracle=True).label
    assert gold is not None and gold.tolist() == [CONSOLING, WISHING]
    asked = model.encode(batch(asked=SAD), oracle=True).label
    assert asked is not None and asked.tolist() == [SAD, SAD]


def test_training_reads_the_gold_label() -> None:
    """Without dropout the training loss is the likelihood an oracle finds; measuring uses the predicted label."""
    model, rows = network(dropout=0.0), batch()
    found = model.train().losses(rows)
    torch.testing.assert_close(found["response"].sum.detach(), likelihood(model.eval(), rows, oracle=True).sum())
    torch.testing.assert_close(model.losses(rows)["nll"].sum, likelihood(model, rows).sum())
    assert int(found["label"].count) == 2


def parts(model: Meed2) -> tuple[list[Tensor], list[Tensor]]:
    """Gradients of the predictor, and of all else."""
    own = {id(p) for part in (model.predictor, model.head) if part is not None for p in part.parameters()}
    found: tuple[list[Tensor], list[Tensor]] = ([], [])
    for parameter in model.parameters():
        if parameter.grad is not None and parameter.grad.abs().sum() > 0:
            found[id(parameter) not in own].append(parameter.grad)
    return found


def test_apart_neither_loss_reaches_the_other_part() -> None:
    model, rows = network().train(), batch()
    model.losses(rows)["label"].sum.backward()  # type: ignore[no-untyped-call]
    own, other = parts(model)
    assert own and not other
    model.zero_grad()
    model.losses(rows)["response"].sum.backward()  # type: ignore[no-untyped-call]
    own, other = parts(model)
    assert other and not own


def test_joint_training_shares_the_encoder() -> None:
    model, rows = network(joint=True).train(), batch()
    assert model.predictor is None
    model.losses(rows)["label"].sum.backward()  # type: ignore[no-untyped-call]
    own, other = parts(model)
    assert own and other
    assert model.embedding.weight.grad is not None and model.embedding.weight.grad.abs().sum() > 0
    assert all(p.grad is None or not p.grad.any() for p in model.decoder.parameters())


def test_the_baseline_knows_no_labels() -> None:
    model, rows = network(labels=False), batch()
    assert not (model.steerable or model.has_oracle or model.reads_labels)
    assert torch.equal(likelihood(model, rows), likelihood(model, batch(asked=SAD), oracle=True))
    unlabelled = dataclasses.replace(rows, labels=torch.full_like(rows.labels, NO_LABEL))
    assert torch.equal(likelihood(model, rows), likelihood(model, unlabelled))
    assert "label" not in model.losses(rows)


def test_the_turns_labels_matter() -> None:
    model, rows = network(), batch()
    other = dataclasses.replace(rows, labels=torch.where(rows.labels == SAD, WISHING, rows.labels))
    assert not torch.allclose(likelihood(model, rows), likelihood(model, other))


def test_padding_and_neighbours_never_change_the_label() -> None:
    model, rows = network(), batch()
    alone = collate([Encoded([CLS, RAIN, SUN], [CLS, USR, USR], [EOS], labels=[NO_LABEL, SAD, SAD])])
    together, single = model.encode(rows).label_logits, model.encode(alone).label_logits
    assert together is not None and single is not None and together.shape == (2, len(LABELS))
    torch.testing.assert_close(together[0], single[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("variant", "millions"), [("paper", 59.9), ("release", 60.0)])
def test_the_papers_sizes(variant: str, millions: float) -> None:
    """60.0 million parameters, 40.4 without the predictor (Table 7 prints three times as many)."""
    config = Meed2Config(positions=102, variant=variant)  # type: ignore[arg-type]
    with torch.device("meta"):
        model = Meed2(config, Words([f"w{i}" for i in range(50_265 - len(SPECIALS))]))
    assert model.predictor is not None
    count = sum(p.numel() for p in model.parameters())
    assert count / 1e6 == pytest.approx(millions, abs=0.05)
    assert (count - sum(p.numel() for p in model.predictor.parameters())) / 1e6 == pytest.approx(40.36, abs=0.02)


def test_mistakes_are_told() -> None:
    found = list(Meed2Config(labels=False, joint=True, project=True, positions=0).problems())
    assert len(found) == 3
    assert any("positions = 0" in problem for problem in found)
