"""
FromFunction: any change that you can program
=============================================

You can say: rows may change as my function changes them. Use :class:`~priorsvm.FromFunction` if no
transform of the library fits. Give the function and its parameters.

Guide: :doc:`/guide/transforms`.

.. alt: Two panels with the same rows. With copies that are scaled towards and away from the origin, the
   decision boundary runs radially.
"""

import numpy as np

from priorsvm import RBF, FromFunction, PriorSVC, VirtualSamples, plot

rng = np.random.default_rng(0)
angle = np.concatenate([rng.uniform(0.1, 0.6, 10), rng.uniform(0.9, 1.4, 10)])
X = rng.uniform(1.4, 1.8, (20, 1)) * np.column_stack([np.cos(angle), np.sin(angle)])
y = np.repeat([0, 1], 10)


def brighten(P, factor):
    return factor * P


light = FromFunction(brighten, thetas=[0.5, 0.75, 1.5, 2.0])
plain = PriorSVC(kernel=RBF(1.0), C=10).fit(X, y)
model = PriorSVC(VirtualSamples(light), kernel=RBF(1.0), C=10).fit(X, y)
models = {"plain": plain, "copies with other brightness": model}
plot.compare(models, verify=False)
