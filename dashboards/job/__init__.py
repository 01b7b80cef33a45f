"""The job board: which rank is slow, since when, on what, and is it compute or communication?"""
