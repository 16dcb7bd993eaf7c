"""The rows of one binary model, and the training row that each row was made from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ._utils.arrays import Array, same, to_width
from ._utils.messages import did_you_mean
from .errors import InvalidInput, InvalidType

if TYPE_CHECKING:
    from .encoding import Encoding
    from .spec import Spec

NAMELESS = (
    "Fit on a DataFrame to use names. The columns of an array are x0 to x{last}. Some tools of scikit-learn "
    "remove names, such as BaggingClassifier, AdaBoostClassifier and scalers in a pipeline: use x0, x1, ... "
    "there."
)


@dataclass(frozen=True, eq=False)
class RowTotals:
    """Facts of all rows, of which a sample has some.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    counts : array of shape (n_classes,)
        Number of rows of positive weight in each class.
    weights : array of shape (n_classes,)
        Sum of the sample weights of each class.
    mean : array of shape (d,)
        Weighted mean of the rows.
    """

    n_rows: int
    counts: Array
    weights: Array
    mean: Array


@dataclass(frozen=True, eq=False)
class Sample:
    r"""Rows of the loss :math:`\sum_i C\,\mathrm{cost}_i\,\xi_i`, training rows first.

    Attributes
    ----------
    X : array of shape (n, d)
        Rows in the user's units; a csr_array if the user's rows are sparse.
    y : array of shape (n,)
        -1.0 or +1.0 for each row.
    cost : array of shape (n,)
        Factor on C of each row. A row of cost 0 has no constraint.
    margin : array of shape (n,)
        The right-hand side :math:`\rho_i` of :math:`y_i f(x_i) \ge \rho_i - \xi_i`.
    source : array of shape (n,)
        Index of the training row that each row was made from, or -1.
    n_train : int
        Number of training rows.
    labels : array of shape (n_train,)
        The user's class labels of the training rows.
    classes : array
        All classes of the training data, also in a model of two of them.
    positive : object
        The class with y = +1.
    feature_names : array of shape (d,) or None, default=None
        Names of the columns.
    seed : int, default=0
        Seed of the random numbers of blocks.
    shares : dict of str to array of shape (n,)
        Block name -> its part of ``cost``. The parts add up to ``cost``.
    model : Spec or None, default=None
        Kernel, norm, loss and scale of the model.
    missing : object or None, default=None
        Completion of missing values by a block. ``X`` has its completed rows.
    against : object or None, default=None
        The class with y = -1 in a one-vs-one model, where rows of further classes have cost 0. None: all
        other classes have y = -1.
    all_weights : array of shape (n_train,) or None, default=None
        Sample weights of a one-vs-one model before the rows of further classes were left out.
    encoding : Encoding or None, default=None
        How columns with categories became columns of ``X``; None without such columns.
    added_labels : array of shape (n - n_train,) or None, default=None
        Class labels of the added rows, as objects. None for a row without a label, and if no row has one.
    totals : RowTotals or None, default=None
        Facts of all rows if the rows are read in chunks, and the training rows are drawn from them or are a
        chunk. None if the training rows are all rows.
    """

    X: Array
    y: Array
    cost: Array
    margin: Array
    source: Array
    n_train: int
    labels: Array
    classes: Array
    positive: Any
    feature_names: Array | None = None
    seed: int = 0
    shares: dict[str, Array] = field(default_factory=dict)
    model: Spec | None = None
    missing: Any = None
    against: Any = None
    all_weights: Array | None = None
    encoding: Encoding | None = None
    added_labels: Array | None = None
    totals: RowTotals | None = None

    @classmethod
    def training(
        cls,
        X: Array,
        labels: Array,
        classes: Array,
        positive: Any,
        cost: Array | None = None,
        feature_names: Array | None = None,
        seed: int = 0,
        model: Spec | None = None,
        missing: Any = None,
        against: Any = None,
        encoding: Encoding | None = None,
        totals: RowTotals | None = None,
    ) -> Sample:
        """Return the training rows with the class ``positive`` against one class, or against all others.

        Parameters
        ----------
        X, labels, classes, positive, feature_names, seed, model, missing, against, encoding, totals
            Attributes of the sample.
        cost : array of shape (n,) or None, default=None
            Sample weights; None is 1 for each row.

        Returns
        -------
        Sample
            The sample.
        """
        n = len(labels)
        cost = np.ones(n) if cost is None else np.asarray(cost, float)
        y = np.where(labels == positive, 1.0, -1.0)
        rows = np.arange(n)
        all_weights = None
        if against is not None:
            all_weights = cost
            cost = np.where((labels == positive) | (labels == against), cost, 0.0)
        return cls(
            X,
            y,
            cost,
            np.ones(n),
            rows,
            n,
            labels,
            classes,
            positive,
            feature_names,
            seed,
            {"svm": cost},
            model,
            missing,
            against,
            all_weights,
            encoding,
            totals=totals,
        )

    def __len__(self) -> int:
        return len(self.y)

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError, with the new name of an attribute of earlier versions."""
        advice = " Use sample.model." if name == "machine" else ""
        raise AttributeError(f"'Sample' object has no attribute {name!r}.{advice}")

    @property
    def negative(self) -> Any:
        """The class with y = -1; None if these are several classes."""
        if self.against is not None:
            return self.against
        others = [label for label in self.classes.tolist() if label != self.positive]
        return others[0] if len(others) == 1 else None

    @property
    def label(self) -> Any:
        """The label of the model in reports: ``positive``, or (``positive``, ``against``)."""
        return self.positive if self.against is None else (self.positive, self.against)

    @property
    def name(self) -> str:
        """The model in messages, such as "class 'a'"; empty if it is the only model."""
        if self.against is not None:
            return f"class {self.positive!r} against {self.against!r}"
        several = len(self.classes) > 2 and self.positive in self.classes.tolist()
        return f"class {self.positive!r}" if several else ""

    @property
    def X_train(self) -> Array:
        """Training rows."""
        return self.X[: self.n_train]

    @property
    def y_train(self) -> Array:
        """Signs of the training rows, -1.0 or +1.0."""
        return self.y[: self.n_train]

    @property
    def gaps(self) -> Array | None:
        """A mask of the completed values of the training rows; None if no value is completed."""
        return getattr(self.missing, "missing", None)

    @property
    def counted(self) -> Array:
        """A flag for each row: True if the row is part of the loss, which a row of cost 0 is not."""
        return np.asarray(self.cost > 0)

    @property
    def counted_rows(self) -> Array:
        """Indices of the rows that are part of the loss."""
        return np.flatnonzero(self.counted)

    @property
    def counted_training(self) -> Array:
        """Indices of the training rows that are part of the loss."""
        return np.flatnonzero(self.counted[: self.n_train])

    @property
    def class_positions(self) -> Array:
        """Position of the class of each row among ``classes``; -1 for an added row without a class.

        An added row has the class that its block gave, or the class of its training row.
        """
        training = np.searchsorted(self.classes, self.labels)
        source = self.source[self.n_train :]
        added = np.where(source >= 0, training[source], -1)
        if self.added_labels is not None:
            given = np.flatnonzero([label is not None for label in self.added_labels])
            added[given] = np.searchsorted(self.classes, np.array(self.added_labels[given].tolist()))
        return np.concatenate([training, added])

    @property
    def weights(self) -> Array:
        """Sample weights of the training rows; 0 for rows that the model leaves out."""
        return self.shares["svm"][: self.n_train]

    @property
    def class_weights(self) -> Array:
        """Sum of the sample weights of each class, over all rows and classes of the data."""
        if self.totals is not None:
            return self.totals.weights
        weight = self.weights if self.all_weights is None else self.all_weights
        return np.array([weight[self.labels == label].sum() for label in self.classes])

    def weighted_rows(self) -> tuple[Array, Array]:
        """Return the training rows with positive sample weight, and their weights in a mean."""
        weight = self.weights
        if weight.all():  # without a copy
            return self.X_train, weight / weight.sum()
        return self.X_train[weight > 0], weight[weight > 0] / weight.sum()

    def sign(self, label: Any) -> float:
        """Return +1 for the positive class, -1 for another class, and 0 for a class that is left out.

        Parameters
        ----------
        label : object
            A class of the training data.

        Returns
        -------
        float
            +1.0 or -1.0, or 0.0 for a class that a one-vs-one model leaves out.

        Raises
        ------
        InvalidInput
            The label is not among the classes.
        """
        if not self._has_class(label):
            classes = self.classes.tolist()
            spelled = [f" Did you mean {c!r}?" for c in classes if str(c) == str(label)]
            meant = did_you_mean(label, [c for c in classes if isinstance(c, str)])
            advice = spelled[0] if spelled else meant + _renamed(classes)
            raise InvalidInput(
                f"label {label!r} is not among the classes of the training data: "
                f"{', '.join(map(repr, classes))}.{advice}"
            )
        if label == self.positive:
            return 1.0
        return -1.0 if self.against is None or label == self.against else 0.0

    def _has_class(self, label: Any) -> bool:
        """Return whether a value of any type is a class of the training data."""
        try:
            return np.ndim(label) == 0 and bool(np.any(self.classes == label))
        except (TypeError, ValueError):  # pandas.NA, or lists of different lengths
            return False

    def column(self, key: Any) -> int:
        """Return the index of a column.

        Parameters
        ----------
        key : str or int
            Name or index. The names of the columns of an array are x0, x1, ...

        Returns
        -------
        int
            The index.

        Raises
        ------
        InvalidInput
            The column does not exist, or has categories.
        """
        if self.encoding is not None:
            return self._encoded_column(key, self.encoding)
        d = self.X.shape[1]
        if isinstance(key, str):
            known = NAMELESS.format(last=d - 1)
            names = [f"x{j}" for j in range(d)]
            if self.feature_names is not None:
                names = self.feature_names.tolist()
                known = f"The columns are: {', '.join(names)}."
            if key in names:
                return int(names.index(key))
            raise InvalidInput(f"there is no column {key!r}.{did_you_mean(key, names)} {known}")
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < d:
            return int(key)
        raise InvalidInput(f"there is no column {key!r}: give a name, or an index from 0 to {d - 1}.")

    def _encoded_column(self, key: Any, encoding: Encoding) -> int:
        """Return the position of a column of numbers, or of an encoded column by its name."""
        names = encoding.encoded_names.tolist()
        if isinstance(key, str) and key in names:
            return int(names.index(key))
        known = encoding.names
        if isinstance(key, str) and key not in known:
            raise InvalidInput(
                f"there is no column {key!r}.{did_you_mean(key, [*known, *names])} "
                f"The columns are: {', '.join(known)}."
            )
        if not isinstance(key, str):
            whole = isinstance(key, (int, np.integer)) and not isinstance(key, bool)
            if not whole or not 0 <= key < len(known):
                raise InvalidInput(
                    f"there is no column {key!r}: give a name, or an index from 0 to {len(known) - 1}."
                )
        column = known.index(key) if isinstance(key, str) else int(key)
        place = encoding.places[column]
        if isinstance(place, (int, np.integer)):
            return int(place)
        members = [names[j] for j in place.tolist()]
        raise InvalidInput(
            f"column {known[column]!r} has categories, and this block requires a number. Use a Rule such as "
            f"\"{known[column]} == '...'\", or name one of its values: {', '.join(members)}."
        )

    def with_factor(self, factor: Array) -> Sample:
        """Multiply the cost of each training row.

        Parameters
        ----------
        factor : array of shape (n_train,)
            Nonnegative factors.

        Returns
        -------
        Sample
            The changed copy.
        """
        cost = self.cost.copy()
        cost[: self.n_train] *= factor
        return replace(self, cost=cost)

    def with_margin(self, margin: Array) -> Sample:
        """Replace the margin of each training row.

        Parameters
        ----------
        margin : array of shape (n_train,)
            New margins.

        Returns
        -------
        Sample
            The changed copy.
        """
        return replace(self, margin=np.concatenate([margin, self.margin[self.n_train :]]))

    def with_training(self, X: Array) -> Sample:
        """Replace the training rows; labels, costs and margins stay.

        Parameters
        ----------
        X : array of shape (n_train, d)
            New rows.

        Returns
        -------
        Sample
            The changed copy.
        """
        return replace(self, X=np.vstack([X, self.X[self.n_train :]]))

    def with_rows(
        self,
        X: Array,
        y: Array,
        cost: Array,
        margin: Array,
        source: Array | None = None,
        labels: Array | None = None,
    ) -> Sample:
        """Append rows that are not training rows.

        Parameters
        ----------
        X, y, cost, margin
            Rows, signs, costs and margins.
        source : array or None, default=None
            Index of the training row that each row was made from; None is -1 for each row.
        labels : array or None, default=None
            Class labels of rows that were not made from training rows. ``multi_class="joint"`` requires them.

        Returns
        -------
        Sample
            The longer copy.
        """
        source = np.full(len(X), -1) if source is None else source
        added = self.added_labels
        if added is not None or labels is not None:
            before = np.full(len(self) - self.n_train, None) if added is None else added
            new = np.full(len(X), None) if labels is None else np.array(labels, object)
            added = np.concatenate([before, new])
        return replace(
            self,
            X=np.vstack([to_width(self.X, X.shape[1]), X]),  # a set may be larger than all training sets
            y=np.concatenate([self.y, y]),
            cost=np.concatenate([self.cost, cost]),
            margin=np.concatenate([self.margin, margin]),
            source=np.concatenate([self.source, source]),
            added_labels=added,
        )

    def changed_by(self, name: str, after: Sample, weight: float) -> Sample:
        r"""Return the rows after a block's ``prepare``, with the change of the costs scaled by its weight.

        The block's :math:`J_{PK}` is the change of :math:`\sum_i C\,\mathrm{cost}_i\,\xi_i`. Weight 0 leaves
        the rows as they are, and weight 1 is the block without an outer weight.
        """
        if not isinstance(after, Sample):
            raise InvalidType(f"block '{name}': prepare must return a Sample, got {type(after).__name__}.")
        if after is self or weight == 0:
            return self
        n = len(self)
        if weight != 1 and not np.array_equal(after.margin[:n], self.margin):
            raise InvalidInput(
                f"block '{name}' changes margins, which an outer weight cannot scale: the weight is "
                f"{weight:g}. Remove the weight and scale the costs of the block instead."
            )
        for what, values in (("cost", after.cost), ("margin", after.margin)):
            if not np.isfinite(values).all() or (what == "cost" and (values < 0).any()):
                bad = values[~np.isfinite(values) | (values < 0)][0]
                raise InvalidInput(
                    f"block '{name}' returns a {what} of {bad}. It must be a nonnegative number."
                )
        before = np.concatenate([self.cost, np.zeros(len(after) - n)])
        cost = before + weight * (after.cost - before)
        if np.any((cost < -1e-12) & after.counted):
            raise InvalidInput(
                f"block '{name}' lowers costs, and with weight {weight:g} some costs are negative. "
                "Use a weight of at most 1, or smaller costs."
            )
        cost = np.maximum(cost, 0.0)  # a removed row cannot be removed twice
        share = cost - before
        padded = {k: np.concatenate([v, np.zeros(len(after) - n)]) for k, v in self.shares.items()}
        return replace(after, cost=cost, shares={**padded, name: share})

    def same_rows(self, other: Sample) -> bool:
        """Return whether rows, signs and margins are equal, and the same rows have positive cost."""
        return (
            len(self) == len(other)
            and np.array_equal(self.y, other.y)
            and np.array_equal(self.margin, other.margin)
            and np.array_equal(self.counted, other.counted)
            and same(self.X, other.X)
        )


def _renamed(classes: list[Any]) -> str:
    """Return advice for labels 0 and 1, which may be made by a wrapper of scikit-learn."""
    if classes != [0, 1]:
        return ""
    return (
        " If they are not your labels: some tools of scikit-learn rename classes to 0 and 1. Use "
        "PriorSVC(multi_class='ovo') or 'ovr' instead of OneVsOneClassifier and OneVsRestClassifier, and "
        "ensemble=True in CalibratedClassifierCV. For cross_val_predict with scores, give y as 0 and 1."
    )


def label_text(label: Any) -> str:
    """Return the label of a model in a table: a class, or "a against b"."""
    return " against ".join(map(str, label)) if isinstance(label, tuple) else str(label)
