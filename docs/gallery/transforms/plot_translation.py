"""
Translation: an image may move
==============================

You can say: an image that is moved by one pixel shows the same thing. Use :class:`~priorsvm.Translation`
in blocks such as VirtualSamples, and in kernels such as Jitter.

Guide: :doc:`/guide/transforms`.

.. alt: A handwritten three and the same three moved up, down, left and right by one pixel.
"""

from sklearn.datasets import load_digits

from priorsvm import Translation, plot

images, digit = load_digits(return_X_y=True)
three = images[digit == 3][:1]

orbit = Translation((8, 8)).orbit(three)[0]
titles = ["original", "up", "down", "left", "right"]
plot.images(orbit, (8, 8), titles=titles, limits=(0, 16))
