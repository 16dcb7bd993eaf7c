"""
Elastic: an image may be distorted smoothly
===========================================

You can say: smooth random distortions show the same digit. Use :class:`~priorsvm.Elastic` for
handwriting. It draws random fields, so set ``random_state``.

Guide: :doc:`/guide/transforms`.

.. alt: A handwritten three and four smoothly distorted copies of it.
"""

from sklearn.datasets import load_digits

from priorsvm import Elastic, plot

images, digit = load_digits(return_X_y=True)
three = images[digit == 3][:1]

distort = Elastic((8, 8), alpha=1.0, sigma=2.0, copies=4, random_state=0)
titles = ["original", "copy 1", "copy 2", "copy 3", "copy 4"]
plot.images(distort.orbit(three)[0], (8, 8), titles=titles, limits=(0, 16))
