"""Which NumPy is installed, where it decides about results."""

import numpy
import numpy.lib

NUMPY_2_5 = numpy.lib.NumpyVersion(numpy.__version__) >= "2.5.0"
"""From here on `eig` is always complex, seeds are flat, and generators draw binomials by a corrected series."""
