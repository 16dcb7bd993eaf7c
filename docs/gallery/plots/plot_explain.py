"""
plot.explain: why a row has its score
=====================================

Draw what each column adds to the score of one row. Use :func:`~priorsvm.plot.explain` to discuss a single
case.

Guide: :doc:`/guide/explain`.

.. alt: Horizontal bars with the contribution of each column to the score of one flower.
"""

from sklearn.datasets import load_iris

from priorsvm import PriorSVC, plot

X, y = load_iris(return_X_y=True, as_frame=True)
X, y = X[50:], y[50:].map({1: "versicolor", 2: "virginica"})

model = PriorSVC(scale="standard").fit(X, y)
plot.explain(model.explain(X.iloc[70]))
