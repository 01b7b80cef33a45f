"""The fleet board: is the fleet fit to train, and what needs hands?"""
