"""The width parameter gamma of kernels: a number, or a word that the training rows turn into one."""

from __future__ import annotations

import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from .._utils.arrays import Array
from .._utils.checks import is_number
from ..errors import InvalidInput
from .base import Kernel

VALID_GAMMA = "a positive number, 'scale' or 'auto'"


def is_gamma(gamma: object) -> bool:
    """Return whether a value is a positive number, ``"scale"`` or ``"auto"``."""
    return gamma in ("scale", "auto") if isinstance(gamma, str) else is_number(gamma) and gamma > 0


def resolved_gamma(gamma: float | str, X: Array, weight: Array | None) -> float | str:
    """Return the number that ``"scale"`` or ``"auto"`` means on rows, as in ``sklearn.svm.SVC``.

    A row of weight 2 counts as two rows, a row of weight 0 is left out. Without rows ``"scale"`` stays.
    """
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma == "scale" and len(X):
        if weight is None:
            variance = X.var()
        else:
            spread = (X - np.average(X.mean(axis=1), weights=weight)) ** 2
            variance = np.average(spread.mean(axis=1), weights=weight)
        return float(1.0 / (X.shape[1] * variance)) if variance else 1.0
    return gamma


def gamma_number(kernel: Kernel, gamma: float | str) -> float:
    """Return gamma, or raise InvalidInput if it is still a word."""
    if isinstance(gamma, str):
        raise InvalidInput(
            f"{type(kernel).__name__}: gamma={gamma!r} depends on the training rows; give a number, "
            "or use the kernel that resolved(X) returns."
        )
    return gamma


class WithGamma(Kernel):
    """Base class of kernels whose ``gamma`` may be a word until :meth:`resolved`."""

    gamma: float | str

    def _check(self) -> None:
        self._expect(is_gamma(self.gamma), "gamma", self.gamma, VALID_GAMMA)

    def resolved(self, X: ArrayLike, weight: Array | None = None) -> Self:
        self._check()
        resolved = copy.copy(self)
        resolved.gamma = resolved_gamma(self.gamma, self._rows(X, "X"), weight)
        return resolved
