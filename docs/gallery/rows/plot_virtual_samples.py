"""
VirtualSamples: changed copies keep their class
===============================================

You can say: a row keeps its class if this column changes a little. Use :class:`~priorsvm.VirtualSamples`
if a few changed copies represent all changes. It needs no special solver.

Guide: :doc:`/guide/virtual_samples`.

.. alt: Two panels. With copies of every row above and below it, the decision boundary becomes nearly
   vertical.
"""

import numpy as np

from priorsvm import PriorSVC, Shift, VirtualSamples, plot

rng = np.random.default_rng(0)
X = rng.normal(0, 0.6, (24, 2))
X[12:] += [2.5, 2.0]
y = np.repeat([0, 1], 12)
drift = Shift([0.0, 2.5])

plain = PriorSVC(C=10).fit(X, y)
model = PriorSVC(VirtualSamples(drift), C=10).fit(X, y)
plot.compare({"plain": plain, "copies shifted up and down": model}, verify=False)
