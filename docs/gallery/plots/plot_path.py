"""
plot.path: what changes with a weight
=====================================

Draw weights, shares or scores of models along a range of C or of a weight of a block. Use
:func:`~priorsvm.plot.path` to choose a weight.

Guide: :doc:`/guide/plots`.

.. alt: Curves of the weights of four columns over C on a logarithmic axis.
"""

import numpy as np
from sklearn.datasets import load_iris

from priorsvm import PriorSVC, plot

X, y = load_iris(return_X_y=True, as_frame=True)
X, y = X[50:], y[50:]

values = {"C": np.logspace(-3, 2, 16)}
models = PriorSVC(scale="standard").fit_path(X, y, values)
plot.path(models, values)
