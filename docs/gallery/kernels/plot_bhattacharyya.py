"""
Bhattacharyya: samples are sets of vectors
==========================================

You can say: a sample is a set of vectors, in any order and of any size. Use
:class:`~priorsvm.Bhattacharyya` if the distribution of the vectors in a set matters.

Guide: :doc:`/guide/sets`.

.. alt: Two kernel matrices of 20 sets. The RBF kernel of the means shows no structure, and the
   Bhattacharyya kernel shows two blocks, one for each class.
"""

import numpy as np

from priorsvm import RBF, Bhattacharyya, plot

rng = np.random.default_rng(0)
wide, round_ = [2.4, 0.3], [0.9, 0.9]
sets = [rng.normal(size=(30, 2)) * (wide if k < 10 else round_) for k in range(20)]
means = [vectors.mean(axis=0) for vectors in sets]

matrices = [RBF(1.0)(means).ravel(), Bhattacharyya(0.1)(sets).ravel()]
titles = ["RBF of the means", "Bhattacharyya"]
plot.images(matrices, (20, 20), titles=titles)
