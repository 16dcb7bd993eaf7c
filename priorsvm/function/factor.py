"""Pivoted Cholesky factors of kernel matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpstrf

from .._utils.arrays import Array
from ..errors import KernelNotPSD
from .atoms import Atoms
from .memory import refuse_beyond_memory

if TYPE_CHECKING:
    from ..kernels.base import Kernel

# Pivots below this, in a kernel matrix of unit diagonal, are rounding noise: directions it does not have.
RANK_TOLERANCE = 1e-13


def pivoted_cholesky(kernel: Kernel, Z: Array | Atoms, rank: int | None = None) -> tuple[Array, Array]:
    """Return pivots, and the features of all points in the basis of the pivots.

    ``features @ features.T`` is the kernel matrix of Z, which are points or atoms. In the order of the pivots
    the features are lower triangular. With ``rank`` only that many columns of the kernel matrix are computed.
    The product then is the Nyström approximation of the kernel matrix.
    """
    Z = Atoms.of(Z)
    n = len(Z)
    if rank is None or rank >= n:
        refuse_beyond_memory(n, n, "the kernel matrix", "Set n_centres to work with fewer.")
        K = Z.products(kernel, Z)
        require_psd(kernel, K)
        size = _lengths(K.diagonal())  # a point of small norm is not rounding noise
        factor, order, found, _ = dpstrf(K / np.outer(size, size), tol=RANK_TOLERANCE, lower=1)
        rows = np.empty((n, found))
        rows[order - 1] = np.tril(factor[:, :found])
        return order[:found] - 1, size[:, None] * rows
    refuse_beyond_memory(n, rank, "the Nyström factor", "Lower n_centres.")
    columns = np.zeros((rank, n))
    diagonal = Z.diag(kernel)
    size = _lengths(diagonal)
    left = diagonal / size**2
    pivots: list[int] = []
    for j in range(rank):
        pivot = int(np.argmax(left))
        if left[pivot] <= RANK_TOLERANCE:
            break
        column = Z[[pivot]].products(kernel, Z)[0] / (size[pivot] * size) - columns[:j, pivot] @ columns[:j]
        columns[j] = column / np.sqrt(left[pivot])
        columns[j, pivots] = 0.0
        left = np.maximum(left - columns[j] ** 2, 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    return np.array(pivots, int), size[:, None] * columns[: len(pivots)].T


def _lengths(diagonal: Array) -> Array:
    """Return the norms of points in feature space; 1 instead of 0."""
    lengths = np.sqrt(np.maximum(np.asarray(diagonal, float), 0.0))
    return np.where(lengths > 0, lengths, 1.0)


def is_symmetric(K: Array) -> bool:
    """Return whether a matrix is symmetric up to rounding."""
    return np.allclose(K, K.T, atol=1e-8 * float(np.abs(K).max(initial=0.0)))


def is_psd(K: Array) -> bool:
    """Return whether a symmetric matrix is positive semidefinite up to rounding."""
    try:
        np.linalg.cholesky(K + 1e-8 * float(np.abs(K).max(initial=0.0)) * np.eye(len(K)))
    except np.linalg.LinAlgError:
        return not K.any()
    return True


def is_cpd(K: Array) -> bool:
    """Return whether a symmetric matrix is conditionally positive semidefinite up to rounding."""
    # Coefficients that sum to zero give the same quadratic form if a row is the origin.
    return is_psd(K - K[:, :1] - K[:1] + K[0, 0])


def require_psd(kernel: Kernel, K: Array) -> None:
    """Raise KernelNotPSD if the matrix of a kernel of unknown definiteness is not positive semidefinite."""
    if kernel.definiteness == "psd" or len(K) == 0:
        return
    way_out = f"norm='l2' requires that. {ways_out(kernel)}"
    if not is_symmetric(K):
        raise KernelNotPSD(f"kernel {kernel!r} is not symmetric, and {way_out}")
    if not is_psd(K):
        lowest = float(np.linalg.eigvalsh(K).min())
        claim = ""
        if is_cpd(K):
            claim = " If it is conditionally positive definite, use a Kernel whose definiteness is 'cpd'."
        raise KernelNotPSD(
            f"kernel {kernel!r} is not positive semidefinite on {len(K)} rows (lowest "
            f"eigenvalue {lowest:.2g}), and {way_out}{claim}"
        )


def require_norm(kernel: Kernel) -> None:
    """Raise KernelNotPSD unless the kernel is known to be positive semidefinite, so that f has a norm."""
    if kernel.definiteness != "psd":
        raise KernelNotPSD(
            f"kernel {kernel!r} is not known to be positive semidefinite, so f has no norm. Use a kernel "
            "whose definiteness is 'psd', such as RBF()."
        )


def ways_out(kernel: Kernel) -> str:
    """Return the advice for a kernel that norm="l2" does not accept."""
    given = [value for name, value in kernel.get_params().items() if name.split("__")[-1] == "psd"]
    mended = " or ".join(f"psd={way!r}" for way in ("clip", "shift") if None in given or way not in given)
    return f"Use norm='l1', which accepts any kernel{f', or {mended} in the kernel' if given else ''}."
