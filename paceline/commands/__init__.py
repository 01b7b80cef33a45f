"""The commands of `paceline`, a module each."""
