"""The pages a person on call reads: one look, one culprit, one next step."""
