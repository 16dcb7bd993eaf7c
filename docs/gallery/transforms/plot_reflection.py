"""
Reflection: the mirror image keeps its class
============================================

You can say: the mirror image shows the same thing. Use :class:`~priorsvm.Reflection` for objects without
a left and a right, not for most letters.

Guide: :doc:`/guide/transforms`.

.. alt: A handwritten zero and a handwritten eight, each beside its mirror image.
"""

import numpy as np
from sklearn.datasets import load_digits

from priorsvm import Reflection, plot

images, digit = load_digits(return_X_y=True)
pair = np.vstack([images[digit == 0][:1], images[digit == 8][:1]])

orbits = Reflection(axis=1).orbit(pair)
titles = ["0", "mirrored", "8", "mirrored"]
plot.images(np.vstack(orbits), (8, 8), titles=titles, limits=(0, 16))
