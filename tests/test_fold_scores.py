"""Scores of folds by which mu="auto" is chosen."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from priorsvm.weights import weighted_auc


@pytest.mark.parametrize("seed", range(5))
def test_the_auc_of_a_fold_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    positive = np.arange(12) % 3 == 0
    scores = rng.integers(0, 5, 12) / 4.0  # with ties
    weight = rng.uniform(0.5, 2.0, 12)
    expected = roc_auc_score(positive, scores, sample_weight=weight)
    assert weighted_auc(positive, scores, weight) == pytest.approx(expected, abs=1e-12)


def test_the_auc_of_ordered_and_of_equal_scores():
    positive = np.array([False, False, True])
    assert weighted_auc(positive, np.array([1.0, 2.0, 3.0]), np.ones(3)) == 1.0
    assert weighted_auc(positive, np.zeros(3), np.ones(3)) == 0.5
