"""Findings: frames in, verdicts out; nothing here reads a file."""
