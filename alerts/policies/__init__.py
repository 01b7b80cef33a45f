"""Who is told of which incident, when, and what is held back."""
