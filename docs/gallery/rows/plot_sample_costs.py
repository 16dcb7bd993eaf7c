"""
SampleCosts: some rows are less reliable
========================================

You can say: these labels are doubtful, so their errors count less. Use :class:`~priorsvm.SampleCosts` if
you know how reliable each row is.

Guide: :doc:`/guide/sample_costs`.

.. alt: Two panels with the same rows, four of them with doubtful labels. With low costs for these rows,
   the decision boundary ignores them.
"""

import numpy as np
from sklearn.datasets import make_blobs

from priorsvm import RBF, PriorSVC, SampleCosts, plot

X, y = make_blobs(40, centers=[[0, 0], [3, 2]], cluster_std=0.8, random_state=3)
X = np.vstack([X, [[2.6, 2.4], [3.0, 1.6], [3.4, 2.2], [2.8, 2.0]]])
y = np.append(y, [0, 0, 0, 0])
costs = np.append(np.ones(40), np.full(4, 0.05))

plain = PriorSVC(C=10, kernel=RBF(0.5)).fit(X, y)
doubtful = PriorSVC(SampleCosts(costs), C=10, kernel=RBF(0.5)).fit(X, y)
plot.compare({"plain": plain, "four doubtful rows cost 0.05": doubtful})
