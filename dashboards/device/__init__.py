"""The device board: is this device slower than its peers at the same work?"""
