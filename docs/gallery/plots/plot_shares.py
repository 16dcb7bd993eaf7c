"""
plot.shares: what each block costs
==================================

Draw the share of each term in the objective. Use :func:`~priorsvm.plot.shares` to see whether a block
matters, or whether it decides everything.

Guide: :doc:`/guide/plots`.

.. alt: Horizontal bars with the share of the regulariser, the loss and two blocks in the objective.
"""

from sklearn.datasets import make_blobs

from priorsvm import RBF, Box, ClassCosts, PriorSVC, plot

X, y = make_blobs(40, centers=[[0, 0], [2, 1]], cluster_std=0.9, random_state=1)
box = Box({0: (-1.0, 1.0), 1: (1.5, 3.0)}, label=1, mu=20)

model = PriorSVC(ClassCosts({1: 3}) + box, kernel=RBF(0.4)).fit(X, y)
plot.shares(model)
