# What we use of SciPy.
