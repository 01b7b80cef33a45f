"""How the tables of the incident database came to be, one step a file."""
