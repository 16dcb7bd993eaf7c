"""
UncertainSamples: measurements with a known error
=================================================

You can say: these columns or rows are measured with this error. Use :class:`~priorsvm.UncertainSamples`
if errors differ between columns or rows. The margin then holds for the worst values.

Guide: :doc:`/guide/uncertain`.

.. alt: Two panels. With the block every row has a tall error ellipse, and the decision boundary turns
   away from the inaccurate column.
"""

import numpy as np

from priorsvm import PriorSVC, UncertainSamples, plot

rng = np.random.default_rng(1)
X = rng.normal(0, 0.5, (24, 2))
X[12:] += [1.8, 2.5]
y = np.repeat([0, 1], 12)

plain = PriorSVC(C=10).fit(X, y)
model = PriorSVC(UncertainSamples([0.01, 0.5]), C=10).fit(X, y)
plot.compare({"plain": plain, "the variance of x1 is 0.5": model})
