"""Scores of classes from the decision functions of all pairs of classes.

The model of a pair has all training rows, with cost 0 for further classes. So indices of rows, parameters of
rows and figures need no translation.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ._utils.arrays import Array


def class_scores(pairs: Array, n_classes: int) -> Array:
    r"""Return the score of each class: its votes, plus a number within 1/3 that orders equal votes.

    .. math:: s_k = v_k + \frac{c_k}{3 (1 + |c_k|)}, \qquad c_k = \sum_{l > k} f_{kl} - \sum_{l < k} f_{lk}

    The function :math:`f_{kl}` of classes k < l votes for k if it is not negative, else for l. The scores are
    the ``decision_function`` of ``sklearn.svm.SVC`` and of ``OneVsOneClassifier``.

    Parameters
    ----------
    pairs : array of shape (n, K (K - 1) / 2)
        The decision function of each pair, in the order (0, 1), (0, 2), ..., (1, 2), ...
    n_classes : int
        The number K of classes.

    Returns
    -------
    array of shape (n, K)

    Examples
    --------
    >>> class_scores(np.array([[0.5, 2.0, -1.0]]), 3).round(2)
    array([[ 2.24, -0.2 ,  0.83]])
    """
    first, second = np.array(list(combinations(range(n_classes), 2))).T
    wins = np.eye(n_classes)[first]
    losses = np.eye(n_classes)[second]
    votes = (pairs >= 0) @ wins + (pairs < 0) @ losses
    confidence = pairs @ (wins - losses)
    return np.asarray(votes + confidence / (3.0 * (1.0 + np.abs(confidence))))
