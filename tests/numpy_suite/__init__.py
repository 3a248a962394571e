"""NumPy's own tests, as its wheel ships them, run against Numloom: `python -m tests.numpy_suite`."""
