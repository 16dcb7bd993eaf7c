"""
Polynomial: products of features matter
=======================================

You can say: products of up to three features matter. Use :class:`~priorsvm.Polynomial` if interactions of
few features decide the class.

Guide: :doc:`/guide/kernels`.

.. alt: Three panels with two half-moons. The decision boundary has more bends with degree 3 than with
   degree 1 or 2.
"""

from sklearn.datasets import make_moons

from priorsvm import Polynomial, PriorSVC, plot

X, y = make_moons(80, noise=0.15, random_state=0)

models = {}
for degree in (1, 2, 3):
    kernel = Polynomial(degree, gamma=1.0, coef0=1.0)
    models[f"degree {degree}"] = PriorSVC(kernel=kernel, C=10).fit(X, y)
plot.compare(models, support=False)
