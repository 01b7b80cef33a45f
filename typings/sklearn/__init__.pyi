# What we use of scikit-learn, which has no types of its own.
