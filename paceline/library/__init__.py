"""The library face: what analysts call in notebooks, by `from paceline import ...`."""
