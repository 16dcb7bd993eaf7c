"""
plot.convergence: rounds and their bounds
=========================================

Draw the objective of each round, and its bounds if there are any. Use :func:`~priorsvm.plot.convergence`
for blocks that need several rounds.

Guide: :doc:`/guide/plots`.

.. alt: A lower and an upper bound of the objective that meet after a few rounds.
"""

from sklearn.datasets import load_digits

from priorsvm import InvariantLoss, PriorSVC, Translation, plot

X, y = load_digits(n_class=2, return_X_y=True)
block = InvariantLoss(Translation((8, 8)), method="columns")

model = PriorSVC(block, kernel="rbf", C=10).fit(X[:60] / 16, y[:60])
plot.convergence(model)
