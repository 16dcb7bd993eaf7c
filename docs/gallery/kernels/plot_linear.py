"""
Linear: the score is a weighted sum of features
===============================================

You can say: every feature adds its part to the score. Use :class:`~priorsvm.Linear` for models that are
easy to explain, and for many features.

Guide: :doc:`/guide/kernels`.

.. alt: Two panels with two half-moons. The linear kernel has a straight decision boundary, the RBF kernel
   has a curved one.
"""

from sklearn.datasets import make_moons

from priorsvm import RBF, Linear, PriorSVC, plot

X, y = make_moons(80, noise=0.15, random_state=0)

straight = PriorSVC(kernel=Linear(), C=10).fit(X, y)
curved = PriorSVC(kernel=RBF(2.0), C=10).fit(X, y)
plot.compare({"Linear()": straight, "RBF(2.0)": curved}, support=False)
