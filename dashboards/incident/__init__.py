"""The incident board: what happened, in order?"""
