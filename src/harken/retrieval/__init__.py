"""Responses fit for a context: bi-encoder rankers, candidate pools, indexes, exemplars."""
