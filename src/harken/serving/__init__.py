"""Listeners before people: terminal chat, and care before any of it."""
