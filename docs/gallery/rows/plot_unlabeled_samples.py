"""
UnlabeledSamples: further points with a supposed class
======================================================

You can say: this point belongs to that class, although it is in no data set. Use
:class:`~priorsvm.UnlabeledSamples` if you can name points, with a cost for your confidence in them.

Guide: :doc:`/guide/unlabelled`.

.. alt: Two panels with the same rows. With three supposed points at the lower right, the decision region
   of their class reaches these points.
"""

from sklearn.datasets import make_blobs

from priorsvm import RBF, PriorSVC, UnlabeledSamples, plot

X, y = make_blobs(40, centers=[[0, 0], [2, 3]], cluster_std=0.7, random_state=0)
known = UnlabeledSamples([[3.0, -1.0], [3.5, -0.5], [3.5, -1.5]], y=1, costs=2.0)

plain = PriorSVC(kernel=RBF(0.4), C=10).fit(X, y)
model = PriorSVC(known, kernel=RBF(0.4), C=10).fit(X, y)
plot.compare({"plain": plain, "three supposed points": model}, verify=False)
