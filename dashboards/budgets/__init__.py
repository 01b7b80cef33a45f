"""The budget board: are we inside budget, and how fast do we spend it?"""
