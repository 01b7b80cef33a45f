# What we use of statsmodels.
