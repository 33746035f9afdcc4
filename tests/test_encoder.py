"""The MiniLM encoder from its package: unit vectors with meaning, whatever the batch; a damaged file is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from harken.errors import HarkenError
from harken.text import encoder as module
from harken.text.bert import Bert
from harken.text.encoder import MINILM_SHA256, SentenceEncoder, minilm_folder
from harken.text.linear import fit

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("listener")]


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder()


def test_vectors_have_length_one_and_meaning(encoder: SentenceEncoder) -> None:
    dog, puppy, tax = encoder.encode(["My dog is ill.", "The puppy is sick.", "The tax form is due in April."])
    assert np.allclose([dog @ dog, puppy @ puppy, tax @ tax], 1, atol=1e-5)
    assert dog @ puppy > 0.6
    assert dog @ tax < 0.3


def test_a_batch_changes_nothing(encoder: SentenceEncoder) -> None:
    texts = ["a", "a much longer sentence about nothing in particular, padded to the full", "", "short one"]
    together = encoder.encode(texts, batch_size=4)
    apart = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.allclose(together, apart, atol=1e-5)


def test_our_bert_is_transformers_bert(encoder: SentenceEncoder) -> None:
    texts = ["My dog is ill.", "", "a much longer sentence " * 40, "ça va ? 🙂"]
    with torch.inference_mode():
        ours, keep = Bert(encoder.folder, encoder.max_tokens).states(texts)
        theirs, same = encoder._any_architecture()(texts)
    assert torch.equal(keep, same)
    assert torch.allclose(ours[keep], theirs[keep], atol=1e-4)


def test_progress_adds_up(encoder: SentenceEncoder) -> None:
    heard: list[int] = []
    encoder.encode(["x"] * 10, batch_size=4, advance=heard.append)
    assert heard == [4, 4, 2]


def test_a_damaged_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real package's folder with one byte of the weights changed."""
    package = tmp_path / module.MINILM_PACKAGE
    shutil.copytree(minilm_folder(), package / "model")
    weights = package / "model" / "model.safetensors"
    with weights.open("r+b") as stream:
        stream.seek(-1, 2)
        last = stream.read(1)
        stream.seek(-1, 2)
        stream.write(bytes([last[0] ^ 1]))
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(HarkenError, match=f"not the official {MINILM_SHA256[:12]}"):
        minilm_folder()


def test_a_folder_that_is_no_encoder(tmp_path: Path) -> None:
    with pytest.raises(HarkenError, match="name a Hugging Face folder"):
        _ = SentenceEncoder(tmp_path).fingerprint


def test_linear_reading_by_hand() -> None:
    """Two classes apart on one axis: each vector is read as its own class; a class never seen is never chosen."""
    vectors = np.array([[1, 0], [0.9, 0.1], [-1, 0], [-0.9, 0.1]], dtype=np.float32)
    head = fit(vectors, [0, 0, 2, 2], 3)
    read = head.probabilities(vectors)
    assert read.argmax(axis=1).tolist() == [0, 0, 2, 2]
    assert np.allclose(read.sum(axis=1), 1)
    assert (read[:, 1] == 0).all()
