"""Replies to figures: every definition has a name, every figure a signature, its n and its interval."""
