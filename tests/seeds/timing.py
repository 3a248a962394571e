def expensive_compute(x):
    return x * 2


import cupynumeric as np

x = np.ones(10)
# BEST — use Legate's timing
from legate.timing import time
t0 = time()
y = expensive_compute(x)
t1 = time()
print((t1 - t0) / 1e6, "ms")     # times in microseconds; reads of t0/t1
                                  # force ordering at submission-time
