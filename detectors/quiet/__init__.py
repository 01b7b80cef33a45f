"""Quiet faults: numbers that go wrong, pauses that recur, writers and stores that all wait for."""
