"""The steps, each named by the number that the next one builds on."""
