"""How incidents reach people: an outbox, its worker, and the receivers."""
