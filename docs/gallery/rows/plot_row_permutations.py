"""
RowPermutations: parts that come in no order
============================================

You can say: a sample has two parts, and their order has no meaning. Use
:class:`~priorsvm.RowPermutations` if each part has a counterpart in the other samples.

Guide: :doc:`/guide/permutations`. Lesson: :doc:`/_notebooks/09_invariant_kernels`.

.. alt: Two panels over the values of two parts. Without the block one class has no decision region. With
   it the decision boundary is symmetric in the two parts.
"""

import numpy as np

from priorsvm import PriorSVC, RowPermutations, plot

rng = np.random.default_rng(0)
small, large = rng.normal(1.0, 0.4, 40), rng.normal(4.0, 0.4, 40)
X = np.column_stack([small, np.where(np.arange(40) < 20, large, small + 1.2)])
X[::2] = X[::2, ::-1]
y = np.repeat(["apart", "near"], 20)

plain = PriorSVC(C=10).fit(X, y)
model = PriorSVC(RowPermutations((2, 1), rho=1.0), C=10).fit(X, y)
plot.compare({"plain": plain, "the order has no meaning": model}, support=False)
