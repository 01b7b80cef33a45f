"""Readers: every source and dialect, from bytes to frames; nothing here judges."""
