"""The fabric board: which link hurts which jobs?"""
