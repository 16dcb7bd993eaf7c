"""
Rotation: an image may turn
===========================

You can say: an image that is turned a little shows the same thing. Use :class:`~priorsvm.Rotation` with
the largest angle, in degrees, and the number of steps.

Guide: :doc:`/guide/transforms`.

.. alt: A handwritten three and the same three turned by four angles between minus 30 and 30 degrees.
"""

from sklearn.datasets import load_digits

from priorsvm import Rotation, plot

images, digit = load_digits(return_X_y=True)
three = images[digit == 3][:1]

turns = Rotation((8, 8), degrees=30, steps=5)
titles = ["original", *(f"{t:+.0f}°" for t in (-30, -15, 15, 30))]
plot.images(turns.orbit(three)[0], (8, 8), titles=titles, limits=(0, 16))
