"""
MissingValues: missing values may stay missing
==============================================

You can say: these values are missing at random. Use :class:`~priorsvm.MissingValues` if columns are
correlated. Each missing value is estimated, and the margin holds for its range.

Guide: :doc:`/guide/missing`.

.. alt: Two panels. On the left the rows with missing values are left out. On the right they are hollow
   markers with bars for the range of the missing value.
"""

import numpy as np

from priorsvm import MissingValues, PriorSVC, plot

rng = np.random.default_rng(2)
X = rng.normal(0, 0.5, (40, 2)) @ [[1.0, 0.8], [0.0, 0.6]]
X[20:] += [1.4, 0.4]
y = np.repeat([0, 1], 20)
X[::4, 1] = np.nan
full = ~np.isnan(X).any(axis=1)

plain = PriorSVC(C=10).fit(X[full], y[full])
model = PriorSVC(MissingValues(), C=10).fit(X, y)
plot.compare({"complete rows only": plain, "with missing values": model})
