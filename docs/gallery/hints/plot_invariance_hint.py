"""
InvarianceHint: the score stays the same after a change
=======================================================

You can say: a changed row has the same score, whatever its class is. Use
:class:`~priorsvm.InvarianceHint` if the knowledge is about scores. Labels have no influence on it.

Guide: :doc:`/guide/invariance_hint`.

.. alt: Two panels with rows of two classes. With the hint, the decision boundary runs nearly parallel to
   the horizontal axis.
"""

import numpy as np

from priorsvm import RBF, InvarianceHint, PriorSVC, Shift, plot

rng = np.random.default_rng(1)
X = rng.uniform(-2, 2, (30, 2))
y = (X[:, 1] + rng.normal(0, 0.8, 30) > 0).astype(int)
along = Shift([1.5, 0.0])

plain = PriorSVC(kernel=RBF(1.0), C=10).fit(X, y)
model = PriorSVC(InvarianceHint(along, mu=1000), kernel=RBF(1.0), C=10).fit(X, y)
plot.compare({"plain": plain, "equal scores along x0": model}, verify=False)
