"""
RBF: near rows are alike
========================

You can say: rows near each other have similar scores. Use :class:`~priorsvm.RBF` as the first curved
model. A large ``gamma`` means that only very near rows are alike.

Guide: :doc:`/guide/kernels`.

.. alt: Three panels with two half-moons. With a larger gamma, the decision boundary follows single rows.
"""

from sklearn.datasets import make_moons

from priorsvm import RBF, PriorSVC, plot

X, y = make_moons(60, noise=0.25, random_state=0)

models = {}
for gamma in (0.3, 3.0, 30.0):
    models[f"gamma = {gamma:g}"] = PriorSVC(kernel=RBF(gamma), C=10).fit(X, y)
plot.compare(models, support=False)
