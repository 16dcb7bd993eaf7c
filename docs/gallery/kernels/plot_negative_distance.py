"""
NegativeDistance: a kernel without a width
==========================================

You can say: near rows are alike, and no typical distance is known. Use
:class:`~priorsvm.NegativeDistance` if columns have no natural width. Its decision boundary does not
change if all columns are rescaled.

Guide: :doc:`/guide/kernels`.

.. alt: Two panels with values of a kernel around one point. RBF falls to zero within its width, and
   NegativeDistance falls at the same rate everywhere.
"""

import matplotlib.pyplot as plt

from priorsvm import RBF, NegativeDistance, plot

kernels = {"RBF": RBF(3.0), "NegativeDistance": NegativeDistance()}
figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
for ax, (title, kernel) in zip(axes, kernels.items(), strict=True):
    plot.kernel(kernel, [0.6, 1.0], extent=(-2, 2, -2, 2), ax=ax).set_title(title)
