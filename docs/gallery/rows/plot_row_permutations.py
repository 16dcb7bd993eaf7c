"""
RowPermutations: parts that come in no order
============================================

You can say: a sample has two parts, and their order has no meaning. Use
:class:`~priorsvm.RowPermutations` if each part has a counterpart in the other samples.

Guide: :doc:`/guide/permutations`.

.. alt: Two panels over the values of two parts. A straight line cannot separate the classes. With the block
   the decision boundary is symmetric in the two parts and separates the classes.
"""

import numpy as np

from priorsvm import PriorSVC, RowPermutations, plot

rng = np.random.default_rng(0)
low, high = rng.normal(1.0, 0.3, 40), rng.normal(4.0, 0.3, 40)
near = np.repeat([0.0, 1.0], 20)
X = np.column_stack([low + near, high - near])
X[::2] = X[::2, ::-1]
y = np.where(near == 1, "near", "apart")

plain = PriorSVC(C=10).fit(X, y)
model = PriorSVC(RowPermutations((2, 1), rho=3.0), C=10).fit(X, y)
plot.compare({"plain": plain, "the order has no meaning": model}, support=False)
