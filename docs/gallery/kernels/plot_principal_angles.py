"""
PrincipalAngles: sets are alike if they span the same plane
===========================================================

You can say: a sample is a set of vectors, and the space that they span matters. Use
:class:`~priorsvm.PrincipalAngles` if the sizes and the order of the vectors have no meaning.

Guide: :doc:`/guide/sets`.

.. alt: Two kernel matrices of 20 sets. The RBF kernel of the means shows no structure, and the kernel of
   principal angles shows two blocks, one for each class.
"""

import numpy as np

from priorsvm import RBF, PrincipalAngles, plot

rng = np.random.default_rng(0)
planes = [rng.normal(size=(2, 6)) for _ in range(2)]
sets = [rng.normal(size=(2, 2)) @ planes[k // 10] for k in range(20)]
sets = [vectors + rng.normal(0, 0.1, vectors.shape) for vectors in sets]
means = [vectors.mean(axis=0) for vectors in sets]

matrices = [RBF(0.1)(means).ravel(), PrincipalAngles()(sets).ravel()]
titles = ["RBF of the means", "PrincipalAngles"]
plot.images(matrices, (20, 20), titles=titles)
