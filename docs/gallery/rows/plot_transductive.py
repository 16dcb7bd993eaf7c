"""
Transductive: rows without labels show where the gap is
=======================================================

You can say: these rows have no label, and half of them belong to each class. Use
:class:`~priorsvm.Transductive` if unlabelled rows are plentiful and the shares of the classes are known.

Guide: :doc:`/guide/transductive`.

.. alt: Two panels with four labelled rows and many unlabelled rows. With the unlabelled rows, the
   decision boundary runs through the gap between their two groups.
"""

import numpy as np
from sklearn.datasets import make_blobs

from priorsvm import PriorSVC, Transductive, plot

centres = [[0, 0], [0, 3]]
unlabelled, _ = make_blobs(60, centers=centres, cluster_std=0.4, random_state=0)
unlabelled[:, 0] *= 4
X = np.array([[-1.5, 0.2], [-1.0, -0.2], [1.0, 2.8], [1.5, 3.2]])
y = [0, 0, 1, 1]

plain = PriorSVC(C=10).fit(X, y)
model = PriorSVC(Transductive(unlabelled, n_positive=30), C=10).fit(X, y)
plot.compare({"four labelled rows": plain, "and 60 unlabelled rows": model})
