"""What switches, subnet managers and hosts log of their ports."""
