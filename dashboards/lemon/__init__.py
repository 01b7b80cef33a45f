"""The lemon board: which nodes fail jobs again and again?"""
