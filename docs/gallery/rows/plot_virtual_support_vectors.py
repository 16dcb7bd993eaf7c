"""
VirtualSupportVectors: copies of support vectors only
=====================================================

You can say: a row keeps its class if this column changes a little. Use
:class:`~priorsvm.VirtualSupportVectors` if copies of all rows are too many. Only support vectors of a
first fit get copies.

Guide: :doc:`/guide/virtual_support_vectors`.

.. alt: Two panels with nearly the same decision boundary. The left panel has copies of all rows, the
   right panel has copies of the support vectors only.
"""

import numpy as np

from priorsvm import PriorSVC, Shift, VirtualSamples, VirtualSupportVectors, plot

rng = np.random.default_rng(0)
X = rng.normal(0, 0.7, (60, 2))
X[30:] += [3.0, 2.0]
y = np.repeat([0, 1], 30)
drift = Shift([0.0, 2.5])

every = PriorSVC(VirtualSamples(drift), C=10).fit(X, y)
few = PriorSVC(VirtualSupportVectors(drift), C=10).fit(X, y)
models = {"copies of 60 rows": every, "copies of support vectors": few}
plot.compare(models, verify=False)
