"""One beam and one sampler for every generator; reply files."""

from harken.decoding.search import DecodingConfig, Hypothesis, decode

__all__ = ["DecodingConfig", "Hypothesis", "decode"]
