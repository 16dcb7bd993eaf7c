"""
Shear: an image may lean
========================

You can say: slanted handwriting shows the same digit. Use :class:`~priorsvm.Shear` with the largest angle
of the slant, in degrees.

Guide: :doc:`/guide/transforms`.

.. alt: A handwritten three and the same three with four slants to the left and to the right.
"""

from sklearn.datasets import load_digits

from priorsvm import Shear, plot

images, digit = load_digits(return_X_y=True)
three = images[digit == 3][:1]

slant = Shear((8, 8), degrees=30, steps=5)
titles = ["original", *(f"{t:+.0f}°" for t in (-30, -15, 15, 30))]
plot.images(slant.orbit(three)[0], (8, 8), titles=titles, limits=(0, 16))
