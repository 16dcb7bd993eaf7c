"""
Zoom: an image may be larger or smaller
=======================================

You can say: a larger or smaller image shows the same thing. Use :class:`~priorsvm.Zoom` with the largest
change in percent.

Guide: :doc:`/guide/transforms`.

.. alt: A handwritten three and the same three at four sizes between 70 and 130 percent.
"""

from sklearn.datasets import load_digits

from priorsvm import Zoom, plot

images, digit = load_digits(return_X_y=True)
three = images[digit == 3][:1]

zoom = Zoom((8, 8), percent=30, steps=5)
titles = ["original", *(f"{p:+d} %" for p in (-30, -15, 15, 30))]
plot.images(zoom.orbit(three)[0], (8, 8), titles=titles, limits=(0, 16))
