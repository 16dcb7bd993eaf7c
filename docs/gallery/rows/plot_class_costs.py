"""
ClassCosts: errors on one class cost more
=========================================

You can say: a missed patient is five times as bad as a false alarm. Use :class:`~priorsvm.ClassCosts` if
errors on the classes have different consequences, or if one class is rare.

Guide: :doc:`/guide/class_costs`.

.. alt: Two panels with overlapping clouds of healthy and ill rows. With costs, the decision boundary
   moves towards the healthy cloud.
"""

from sklearn.datasets import make_blobs

from priorsvm import ClassCosts, PriorSVC, plot

X, y = make_blobs([40, 15], centers=[[0, 0], [2, 1]], cluster_std=0.9, random_state=1)
names = {0: "healthy", 1: "ill"}
y = [names[k] for k in y]

plain = PriorSVC().fit(X, y)
costly = PriorSVC(ClassCosts({"ill": 5})).fit(X, y)
plot.compare({"plain": plain, "an error on 'ill' costs 5": costly})
