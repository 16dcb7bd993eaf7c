"""
plot.compare: several models side by side
=========================================

Draw several models in one window and with one legend. Use :func:`~priorsvm.plot.compare` to see what a
block, a weight or a kernel changes.

Guide: :doc:`/guide/plots`.

.. alt: Three panels with the same rows. With a larger cost, the decision boundary moves away from the
   costly class.
"""

from sklearn.datasets import make_blobs

from priorsvm import ClassCosts, PriorSVC, plot

X, y = make_blobs(40, centers=[[0, 0], [2, 1]], cluster_std=0.9, random_state=1)

models = {}
for cost in (0.2, 1, 5):
    models[f"an error on 1 costs {cost:g}"] = PriorSVC(ClassCosts({1: cost})).fit(X, y)
plot.compare(models)
