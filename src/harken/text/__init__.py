"""Dialogue records to numbers: encoders, tokenisers, vocabularies."""
