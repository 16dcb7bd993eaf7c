"""USPS and MNIST: images of handwritten digits with their standard training and test sets.

A loader reads ``usps.npz`` or ``mnist.npz`` from the folder in the environment variable ``PRIORSVM_DATA``. If
the file does not exist, scikit-learn's ``fetch_openml`` downloads the data set and stores it in its cache.
Both sources give equal arrays.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataNotFound, InvalidInput

__all__ = ["Digits", "load_mnist", "load_usps"]

DATA_VARIABLE = "PRIORSVM_DATA"
_ARRAYS = ("X_train", "y_train", "X_test", "y_test")


@dataclass(frozen=True, eq=False)
class Digits:
    """Images of handwritten digits, one per row, and their classes.

    Attributes
    ----------
    X_train, X_test : ndarray of shape (n, height * width)
        Pixels, row by row from the top, as float64.
    y_train, y_test : ndarray of shape (n,)
        The digits, 0 to 9.
    image_shape : tuple of (int, int)
        Height and width: ``X_train[i].reshape(image_shape)`` is an upright image. Use it as the ``shape`` of
        image transforms.
    background : float
        Value of a background pixel. Use it as the ``fill`` of image transforms.

    See Also
    --------
    load_usps : Load the USPS data set.
    load_mnist : Load the MNIST data set.

    Examples
    --------
    >>> import numpy as np
    >>> from priorsvm import Translation
    >>> from priorsvm.datasets import Digits
    >>> blank, seven = np.full((1, 16), -1.0), np.array([7])
    >>> digits = Digits(blank, seven, blank, seven, (4, 4), -1.0)
    >>> Translation(digits.image_shape, 1, fill=digits.background).orbit(digits.X_train).shape
    (1, 5, 16)
    """

    X_train: NDArray[np.float64]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]
    image_shape: tuple[int, int]
    background: float


@dataclass(frozen=True)
class _Source:
    """Format of a data set in its file and at OpenML.

    Pixels are stored as integers ``low … high``; a loader divides them by ``high``. The class counts of the
    standard split detect missing rows and rows in the wrong part.
    """

    name: str
    image_shape: tuple[int, int]
    low: int
    high: int
    train_counts: tuple[int, ...]
    test_counts: tuple[int, ...]
    openml_id: int
    openml_high: float
    openml_first_label: int


_USPS = _Source(
    name="usps",
    image_shape=(16, 16),
    low=-1000,
    high=1000,
    train_counts=(1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644),
    test_counts=(359, 264, 198, 166, 200, 160, 170, 147, 166, 177),
    openml_id=41082,
    openml_high=1.0,
    openml_first_label=1,
)

_MNIST = _Source(
    name="mnist",
    image_shape=(28, 28),
    low=0,
    high=255,
    train_counts=(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    test_counts=(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
    openml_id=554,
    openml_high=255.0,
    openml_first_label=0,
)


def load_usps() -> Digits:
    """Load USPS: 7291 training and 2007 test images of 16 x 16 pixels in [-1, 1], background -1.

    Returns
    -------
    Digits
        The data set.

    Raises
    ------
    DataNotFound
        If ``usps.npz`` is not in the folder ``PRIORSVM_DATA`` and OpenML cannot be reached.
    InvalidInput
        If the file or the download is not this data set.

    See Also
    --------
    load_mnist : Load the MNIST data set.

    References
    ----------
    Hull 1994, "A database for handwritten text recognition research", IEEE Transactions on Pattern Analysis
    and Model Intelligence 16.

    Examples
    --------
    >>> from priorsvm import load_usps
    >>> usps = load_usps()  # doctest: +SKIP
    >>> usps.X_train.shape, usps.X_test.shape  # doctest: +SKIP
    ((7291, 256), (2007, 256))
    """
    return _load(_USPS)


def load_mnist() -> Digits:
    """Load MNIST: 60000 training and 10000 test images of 28 x 28 pixels in [0, 1], background 0.

    The arrays take 440 MB as float64.

    Returns
    -------
    Digits
        The data set.

    Raises
    ------
    DataNotFound
        If ``mnist.npz`` is not in the folder ``PRIORSVM_DATA`` and OpenML cannot be reached.
    InvalidInput
        If the file or the download is not this data set.

    See Also
    --------
    load_usps : Load the USPS data set.

    References
    ----------
    LeCun, Bottou, Bengio & Haffner 1998, "Gradient-based learning applied to document recognition",
    Proceedings of the IEEE 86.

    Examples
    --------
    >>> from priorsvm import load_mnist
    >>> mnist = load_mnist()  # doctest: +SKIP
    >>> mnist.X_train.shape, mnist.X_test.shape  # doctest: +SKIP
    ((60000, 784), (10000, 784))
    """
    return _load(_MNIST)


def _load(source: _Source) -> Digits:
    folder = os.environ.get(DATA_VARIABLE)
    path = Path(folder, f"{source.name}.npz") if folder else None
    if path is not None and path.is_file():
        return _digits(source, _read(path), str(path))
    return _digits(source, _fetch(source, path), f"OpenML data set {source.openml_id}")


def _read(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in _ARRAYS}
    # TypeError: the file is a single .npy array.
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidInput(
            f"{path} cannot be read as an .npz archive of the arrays {', '.join(_ARRAYS)}: {error}. Replace "
            f"the file, or unset {DATA_VARIABLE} to download the data set."
        ) from error


def _fetch(source: _Source, path: Path | None) -> dict[str, NDArray[Any]]:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(
            data_id=source.openml_id,
            as_frame=False,
            parser="pandas" if find_spec("pandas") else "liac-arff",
        )
    # fetch_openml raises ValueError if OpenML returns an error or a damaged file.
    except (OSError, HTTPException, ValueError) as error:
        reason = f"{path} does not exist" if path else f"the environment variable {DATA_VARIABLE} is not set"
        raise DataNotFound(
            f"{source.name} cannot be loaded: {reason}, and the download from OpenML failed with {error}. "
            f"Set {DATA_VARIABLE} to a folder that contains {source.name}.npz, or connect to a network for "
            f"fetch_openml(data_id={source.openml_id})."
        ) from error
    # Rounding restores the published values for any number of digits stored by OpenML.
    X = np.rint(np.asarray(bunch.data, dtype=float) * (source.high / source.openml_high))
    y = np.asarray(bunch.target).astype(np.int64) - source.openml_first_label
    n_train = sum(source.train_counts)
    return {"X_train": X[:n_train], "y_train": y[:n_train], "X_test": X[n_train:], "y_test": y[n_train:]}


def _digits(source: _Source, arrays: dict[str, NDArray[Any]], origin: str) -> Digits:
    """Return the checked data set with scaled pixels."""
    width = source.image_shape[0] * source.image_shape[1]
    for part, counts in (("train", source.train_counts), ("test", source.test_counts)):
        X = arrays[f"X_{part}"]
        y = arrays[f"y_{part}"]
        _expect(origin, f"X_{part} has shape", X.shape, (sum(counts), width))
        _expect(origin, f"y_{part} has shape", y.shape, (sum(counts),))
        span = (X.min().item(), X.max().item())
        _expect(origin, f"X_{part} has values from", span, (source.low, source.high))
        values, found = np.unique(y, return_counts=True)
        _expect(origin, f"y_{part} has labels", tuple(values.tolist()), tuple(range(10)))
        _expect(origin, f"y_{part} has class counts", tuple(found.tolist()), counts)
    return Digits(
        X_train=arrays["X_train"] / source.high,
        y_train=arrays["y_train"].astype(np.int64),
        X_test=arrays["X_test"] / source.high,
        y_test=arrays["y_test"].astype(np.int64),
        image_shape=source.image_shape,
        background=source.low / source.high,
    )


def _expect(origin: str, what: str, found: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    if found != expected:
        raise InvalidInput(f"{origin} is not the standard data set: {what} {found}, expected {expected}.")
