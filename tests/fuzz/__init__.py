"""A program fuzzer: random array programs run under NumPy and under Numloom must agree."""
