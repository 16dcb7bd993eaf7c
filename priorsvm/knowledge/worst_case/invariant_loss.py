r"""The invariant loss: the loss of a row is the largest over all its transformed copies."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array, stack
from ..._utils.checks import check_choice, check_flag, is_number
from ..._utils.parallel import over_rows
from ...errors import InvalidInput, MissingCapability
from ...sample import Sample
from ...transforms.base import Transform
from ...transforms.features import FeatureDeletion, FeatureScaling
from ..base import Formulas, Knowledge, Terms
from ..by_class import ByClass, in_order
from ..checks import cost_at
from ..traits import Iterative, OnRowSlack
from ..views import Building, Solved, Step, Verdict
from .base import WorstCase, rows_and_slack
from .loss_factors import changing_to, checked_factors, factors_of_pairs
from .orbit_between import check_between, finest_grid, next_between, verify_between
from .orbit_columns import OrbitColumns
from .orbit_loss import OrbitLoss
from .orbit_search import next_columns, worst_members
from .worst_features import limits_and_factors, scaled_rows, worst_deletions, worst_feature_constraints

# Up to this many members of orbits a linear model takes all at once, which is cheaper than rounds.
FEW = 20_000

# Arguments that are dicts of (class, other class) to number.
PAIRED = ("confusion", "confusion_scaling")
METHODS = ("auto", "columns", "all", "closed", "pegasos")


class InvariantLoss(ByClass, OrbitLoss, Iterative, OnRowSlack, Knowledge):
    r"""Worst-case hinge loss over all transformed copies of each training row.

    .. math:: \xi_i = \sup_\theta \left[\Delta(\theta)\,\rho_i
              - \Gamma(\theta)\, y_i f(T_\theta x_i)\right]_+

    with :math:`\Delta` from ``cost`` and :math:`\Gamma` from ``scaling``. Use it if the class of a row is the
    same under every transformation. :class:`VirtualSamples` sums the loss over the orbit of a row, and this
    block takes the largest. So a row counts once, and few members of few orbits are active. Column
    generation finds them: solve the problem, search the worst members, add them, and repeat until the
    bounds in ``history_`` meet to ``tol``. The result is exact on linear and kernel models.

    Parameters
    ----------
    transform : Transform or dict of class to Transform
        A transformation with a finite orbit. On linear models also :class:`FeatureScaling` or
        :class:`FeatureDeletion`; on kernel models :class:`FeatureDeletion` of up to 4096 sets of features.
        With a dict, rows of a class that is not a key are not transformed.
    cost : float, callable or None, default=None
        :math:`\Delta(\theta)`, from 0 to 1: the share of the margin required after a transformation. A number
        is the share for the strongest transformations, with a linear decrease from 1. A function maps the
        (s, q) parameters of a transform to s shares. None means 1 everywhere.
    scaling : {"margin", "slack"}, float or callable, default="margin"
        :math:`\Gamma(\theta)`, the factor on f after a transformation.

        - ``"margin"``: :math:`\Gamma = 1`, so that :math:`\Delta` multiplies the margin.
        - ``"slack"``: :math:`\Gamma = \Delta`, so that :math:`\Delta` multiplies the slack.
        - a positive number: the factor for the strongest transformations, with a linear change from 1.
        - a function: maps the (s, q) parameters of a transform to s positive factors.
    method : {"auto", "columns", "all", "closed", "pegasos"}, default="auto"
        How the problem is solved.

        - ``"columns"``: column generation.
        - ``"all"``: all members of all orbits at once.
        - ``"closed"``: for :class:`FeatureScaling` on linear models, a closed form with N x d auxiliary
          variables.
        - ``"pegasos"``: for very many rows, at most ``max_rounds`` passes in small batches until the bounds
          meet to ``tol``. Expect about 1 % accuracy. A kernel model keeps a limited number of centres.
        - ``"auto"``: all members, or the closed form, on a linear model up to a size of 20000; else columns.
    continuous : bool, default=False
        Whether transformations between the members of the orbit count too. Once no member is violated, the
        worst transformations in between are searched and added. Requires a continuous transform.
    confusion : dict or None, default=None
        With ``multi_class="joint"``: (class, other class) -> positive factor on :math:`\Delta` for predicting
        the second class instead of the first. A pair that is not listed has the factor 1.
    classes : class, list of classes or None, default=None
        Classes whose rows are transformed; None means all classes. Rows of other classes have the hinge
        loss. Leave it out if ``transform`` is a dict.
    confusion_scaling : dict or None, default=None
        With ``multi_class="joint"``: (class, other class) -> positive factor on :math:`\Gamma`, as
        ``confusion`` has them for :math:`\Delta`. Not with ``scaling="slack"``.

    See Also
    --------
    VirtualSamples : The sum of the loss over the orbit instead of the largest.
    Trajectories : The worst case over a polynomial path, as cones.
    UncertainSamples : The worst case over an ellipsoid around each row, as cones.

    References
    ----------
    Teo, Globerson, Roweis & Smola 2007; for one parameter Loosli, Canu, Vishwanathan & Smola 2005, eq. (45)
    of Lauer & Bloch 2008.

    Examples
    --------
    >>> from priorsvm import InvariantLoss, PriorSVC, Shift
    >>> X, y = [[0.0, 0.0], [1.0, 2.0], [4.0, 0.0], [5.0, 2.0]], [0, 0, 1, 1]
    >>> model = PriorSVC(InvariantLoss(Shift([1.0, 0.0])), C=10).fit(X, y)
    >>> model.coef_.round(6).tolist()
    [[1.0, -0.5]]
    """

    confusion_scaling: Any = None  # older files do not contain it
    way_out_of_collapse: ClassVar[str | None] = (
        "Transformed rows of both classes overlap too much: allow fewer or smaller transformations."
    )
    formulas: ClassVar[Formulas] = Formulas(
        latex={
            "columns": r"y_i f(T_\theta x_i) \ge \Delta(\theta)\,\rho_i - \xi_i"
            r" \text{ for the transformations found}",
            "scaled": r"\Delta(\theta) (\rho_i - y_i f(T_\theta x_i)) \le \xi_i"
            r" \text{ for the transformations found}",
            "apart": r"\Gamma(\theta)\, y_i f(T_\theta x_i) \ge \Delta(\theta)\,\rho_i - \xi_i"
            r" \text{ for the transformations found}",
            "joint": r"f_{y_i}(T_\theta x_i) - f_k(T_\theta x_i) \ge \Delta(y_i, k, \theta)\,\rho_i - \xi_i"
            r" \text{ for the transformations and classes found}",
            "joint_slack": r"\Delta(y_i, k, \theta) (\rho_i - f_{y_i}(T_\theta x_i) + f_k(T_\theta x_i))"
            r" \le \xi_i \text{ for the transformations and classes found}",
            "joint_apart": r"\Gamma(y_i, k, \theta) (f_{y_i}(T_\theta x_i) - f_k(T_\theta x_i))"
            r" \ge \Delta(y_i, k, \theta)\,\rho_i - \xi_i \text{ for the transformations and classes found}",
            "closed": r"y_i f(x_i) - k z_i - \textstyle\sum_j v_{ij} \ge \rho_i - \xi_i",
            "gains": r"z_i + v_{ij} \ge \max((1 - l)\, y_i x_{ij} w_j,\; (1 - u)\, y_i x_{ij} w_j)",
        },
        letters={
            r"T_\theta": r"\text{the transformation with parameters } \theta",
            r"\Delta(\theta)": r"\text{the share of the margin required after this transformation}",
            r"\Delta(y_i, k, \theta)": r"\text{this share, times the cost of predicting } k \text{ for } y_i",
            r"\Gamma(\theta)": r"\text{the factor on } f \text{ after this transformation}",
            r"\Gamma(y_i, k, \theta)": r"\text{this factor, times the factor of } k \text{ for } y_i",
            "k": r"\text{the number of entries that may change at once}",
            "z_i": r"\text{with } v_{ij} \text{ the dual variables of the choice of entries}",
            "l": r"\text{with } u \text{ the range of the factors on an entry}",
        },
    )

    def __init__(
        self,
        transform: Any,
        cost: Any = None,
        scaling: Any = "margin",
        method: str = "auto",
        continuous: bool = False,
        confusion: Any = None,
        classes: Any = None,
        confusion_scaling: Any = None,
    ):
        self.transform = transform
        self.cost = cost
        self.scaling = scaling
        self.method = method
        self.continuous = continuous
        self.confusion = confusion
        self.classes = classes
        self.confusion_scaling = confusion_scaling

    def __getstate__(self) -> dict[str, Any]:
        # Keys of skops files are strings and numbers, and the keys of these dicts are pairs.
        state = dict(super().__getstate__())
        for name in PAIRED:
            if isinstance(state.get(name), dict):
                state[name] = {"pairs": list(state[name].items())}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        given = dict(state)
        for name in PAIRED:
            saved = given.get(name)
            if isinstance(saved, dict) and list(saved) == ["pairs"]:
                given[name] = dict(saved["pairs"])
        super().__setstate__(given)

    # ------------------------------------------------------------------ arguments

    @property
    def accepts(self) -> frozenset[str]:  # type: ignore[override]
        """What X may be: sparse for FeatureScaling only."""
        return frozenset({"dense", "sparse"} if self._scales_features else {"dense"})

    @property
    def _scales_features(self) -> bool:
        """Whether the transforms are FeatureScaling, whose orbits cannot be listed."""
        return all(isinstance(transform, FeatureScaling) for transform in self.transforms)

    @property
    def streamed(self) -> bool:
        return self.method == "pegasos"

    def validate(self, sample: Sample) -> None:
        self.check_transforms(sample)
        check_choice("method", self.method, METHODS)
        self._check_scaling()
        for transform in self.transforms:
            transform.validate(sample.X.shape[1])
        check_flag(continuous=self.continuous)
        if self.streamed:
            self._check_streamed(sample)
        scaling = [transform for transform in self.transforms if isinstance(transform, FeatureScaling)]
        if len(scaling) == len(self.transforms):
            self._check_features(sample)
            return
        if scaling:
            raise InvalidInput(
                f"transform mixes {type(scaling[0]).__name__} with transforms that have a finite orbit. Use "
                "one block for each, such as InvariantLoss(s, classes=0) + InvariantLoss(t, classes=1)."
            )
        for transform in self.transforms:
            self._check_orbit(transform, sample)

    def _check_scaling(self) -> None:
        scaling = self.scaling
        word = isinstance(scaling, str) and scaling in self.column_labels
        number = is_number(scaling) and 0 < scaling < float("inf")
        if not word and not number and not callable(scaling):
            raise InvalidInput(
                f"scaling must be one of 'margin', 'slack', a positive number or a function, got {scaling!r}."
            )

    def _check_streamed(self, sample: Sample) -> None:
        spec = sample.model
        required = {"norm": "l2", "loss": "hinge", "n_centres": None}
        for name, only in required.items():
            if spec is not None and getattr(spec, name) != only:
                raise MissingCapability(f"method='pegasos' requires {name}={only!r}. Use method='columns'.")
        if spec is not None and spec.hard:
            raise MissingCapability("method='pegasos' requires a finite C. Use method='columns'.")
        if self.continuous:
            raise InvalidInput("method='pegasos' requires continuous=False. Use method='columns'.")

    def _check_features(self, sample: Sample) -> None:
        kind = type(self.transforms[0]).__name__
        if not self._has_closed_form(sample):
            for transform in self.transforms:
                self._check_deletions(transform, sample)
        apart = not isinstance(self.scaling, str)
        given_arguments = {"cost": self.cost is not None, "scaling": apart, "continuous": self.continuous}
        for name, given in given_arguments.items():
            if given:
                raise InvalidInput(f"{name} has no meaning with {kind}. Leave it out.")
        if self.method == "all" and self._has_closed_form(sample):
            raise InvalidInput(
                f"method='all' requires a finite orbit, and {kind} has none. Use method='auto'."
            )

    def _has_closed_form(self, sample: Sample) -> bool:
        """Return whether the worst copy of a row is known without a list: scaled features, linear f."""
        linear = sample.model is None or sample.model.linear
        return linear and self._scales_features

    def _check_deletions(self, transform: Transform, sample: Sample) -> None:
        """Raise an error unless a kernel model can list all transformations of features."""
        if not isinstance(transform, FeatureDeletion):
            raise MissingCapability(
                "FeatureScaling has a continuous range of factors, and the worst factors for a kernel model "
                "are not known. Use kernel='linear', or FeatureDeletion, which has a finite list."
            )
        try:
            transform.parameters(sample.X.shape[1])
        except InvalidInput as error:
            raise MissingCapability(
                f"{error} Or use kernel='linear', where the worst deletion has a closed form."
            ) from None
        if self.method == "closed":
            raise InvalidInput("method='closed' requires a linear model. Use method='auto'.")
        self._check_centres(sample)
        if self.by_class and self._lists_deletions(sample):
            raise InvalidInput(
                "method='all' and n_centres list the deletions of all rows, and the block applies to some "
                "classes only. Use method='auto' and n_centres=None."
            )

    def _lists_deletions(self, sample: Sample) -> bool:
        """Return whether a kernel model needs all deletions of features before the first solve."""
        listing = self.method == "all" or self._draws_centres(sample)
        return listing and self._scales_features and not self._has_closed_form(sample)

    def _check_orbit(self, transform: Transform, sample: Sample) -> None:
        if self.method == "closed":
            raise InvalidInput(
                "method='closed' is for FeatureScaling and FeatureDeletion. Use 'columns' or 'all'."
            )
        grid = transform.theta_grid()
        share = self.share(transform, grid)
        full = float(share[0])
        if full != 1:
            raise InvalidInput(
                f"cost must be 1 for the row itself, where theta is 0, and it is {full:g}. "
                "Use SampleCosts(margins=...) to require less of a row."
            )
        own = float(self.factor(transform, grid, share)[0])
        if own != 1:
            raise InvalidInput(
                f"scaling must be 1 for the row itself, where theta is 0, and it is {own:g}. "
                "Use SampleCosts(costs, margins) for other factors on a row."
            )
        transform.orbit(sample.X_train[:1])
        self._check_centres(sample)
        if self.continuous:
            check_between(transform, sample.X_train)

    def _check_centres(self, sample: Sample) -> None:
        if self._draws_centres(sample) and (self.method == "columns" or self.continuous):
            argument = "continuous=True" if self.continuous else "method='columns'"
            raise InvalidInput(
                f"n_centres draws the centres of f from all transformed rows before the fit, and {argument} "
                "finds them during the fit. Use method='auto' without continuous, n_centres=None, or "
                "norm='l1'."
            )

    def _draws_centres(self, sample: Sample) -> bool:
        spec = sample.model
        return spec is not None and not spec.linear and spec.norm == "l2" and spec.n_centres is not None

    def check_classes(self, sample: Sample, joint: bool) -> None:
        if not joint:
            for name in PAIRED:
                if getattr(self, name) is not None:
                    raise InvalidInput(f"{name} requires multi_class='joint'.")
            # With other factors on f the worst transformation depends on the bias.
            if self.streamed and self.scaling != "margin":
                raise InvalidInput("method='pegasos' requires scaling='margin'. Use method='columns'.")
            return
        if self.method not in ("auto", "columns", "pegasos"):
            raise InvalidInput(
                f"multi_class='joint' supports column generation and passes only, not {self.method!r}. "
                "Use method='columns' or 'pegasos'."
            )
        if self.continuous:
            raise InvalidInput("multi_class='joint' does not support continuous=True. Leave it out.")
        if self.slack_scaled and self.confusion_scaling is not None:
            raise InvalidInput(
                "confusion_scaling has no effect with scaling='slack', where Gamma is Delta. Leave it out, "
                "or use scaling='margin'."
            )
        self.confusions(sample)
        self.confusion_scalings(sample)

    def confusions(self, sample: Sample) -> Array:
        return factors_of_pairs("confusion", self.confusion, super().confusions(sample), sample)

    def confusion_scalings(self, sample: Sample) -> Array:
        factors = super().confusion_scalings(sample)
        return factors_of_pairs("confusion_scaling", self.confusion_scaling, factors, sample)

    # ------------------------------------------------------------------ the orbit

    def theta_grid(self) -> Array | None:
        # Parameters of the transforms of all classes, one transform after the other.
        if self._scales_features:
            return None
        if not self.by_class:
            return np.asarray(self.transform.theta_grid())
        grids = [transform.theta_grid() for transform in self.transforms]
        found = np.zeros((len(grids) + 1, max(map(len, grids)), sum(grid.shape[1] for grid in grids)))
        for k, (grid, columns) in enumerate(zip(grids, self.parameter_columns(), strict=True)):
            found[k, : len(grid), columns] = grid
        return found

    def orbit(self, X: Array) -> Array:
        return np.asarray(self.transform.orbit(X))

    def listed(self, X: Any, labels: Array) -> OrbitColumns | None:
        if not self.by_class:
            return super().listed(X, labels)
        grid = self.theta_grid()
        if grid is None:
            return None
        orbit = np.repeat(X[:, None], grid.shape[1], axis=1)
        for group in self.groups(labels):
            found = over_rows(group.transform.orbit, X[group.rows])
            orbit[group.rows, : found.shape[1]] = found
        return OrbitColumns.empty(X, orbit, grid, self.transform_of(labels))

    def demand(self, thetas: Array) -> Array:
        found = np.ones(len(thetas))
        for transform, columns in zip(self.transforms, self.parameter_columns(), strict=True):
            moved = thetas[:, columns].any(axis=1)
            found[moved] = self.share(transform, thetas[moved, columns])
        return found

    def share(self, transform: Transform, thetas: Array) -> Array:
        """Return the share of the margin required after each transformation by one transform.

        Parameters
        ----------
        transform : Transform
            One of the transforms of the block.
        thetas : array of shape (s, q)
            Its parameters.

        Returns
        -------
        array of shape (s,)
        """
        cost = self.cost
        if cost is None:
            return np.ones(len(thetas))
        if callable(cost):
            found = cost_at(cost, thetas)
            return checked_factors(
                "cost", found, len(thetas), "number from 0 to 1", (found >= 0) & (found <= 1)
            )
        if not is_number(cost) or not 0 <= cost <= 1:
            raise InvalidInput(f"cost must be a number from 0 to 1, a function or None, got {cost!r}.")
        return changing_to(cost, transform, thetas)

    def scalings(self, thetas: Array, demands: Array) -> Array:
        if isinstance(self.scaling, str):
            return super().scalings(thetas, demands)
        found = np.ones(len(thetas))
        for transform, columns in zip(self.transforms, self.parameter_columns(), strict=True):
            moved = thetas[:, columns].any(axis=1)
            found[moved] = self.factor(transform, thetas[moved, columns], demands[moved])
        return found

    def factor(self, transform: Transform, thetas: Array, shares: Array) -> Array:
        r"""Return :math:`\Gamma` after each transformation by one transform.

        Parameters
        ----------
        transform : Transform
            One of the transforms of the block.
        thetas : array of shape (s, q)
            Its parameters.
        shares : array of shape (s,)
            :math:`\Delta` of the transformations.

        Returns
        -------
        array of shape (s,)
        """
        scaling = self.scaling
        if isinstance(scaling, str):
            return super().scalings(thetas, shares)
        if callable(scaling):
            found = cost_at(scaling, thetas, "scaling")
            return checked_factors(
                "scaling", found, len(thetas), "positive number", (found > 0) & (found < np.inf)
            )
        return changing_to(scaling, transform, thetas)

    def worst_copies(
        self, f: Any, X: Any, y: Array, rho: Array, labels: Array | None = None
    ) -> tuple[Array, Any]:
        if not self.by_class:
            return self._worst_under(self.transform, f, X, y, rho)
        assert labels is not None
        rest = np.flatnonzero(self.transform_of(labels) < 0)
        rows = [rest]
        copies = [X[rest]]
        margins = rho.copy()
        for group in self.groups(labels):
            at = group.rows
            margins[at], points = self._worst_under(group.transform, f, X[at], y[at], rho[at])
            rows.append(at)
            copies.append(points)
        return margins, in_order(rows, copies)

    def _worst_under(self, transform: Transform, f: Any, X: Any, y: Array, rho: Array) -> tuple[Array, Any]:
        """Return for each row the margin required at its worst copy under a transform, and this copy."""
        if isinstance(transform, FeatureScaling) and f.linear:
            return rho, transform.worst(X, f.coef, y)
        if isinstance(transform, FeatureDeletion):
            return rho, worst_deletions(transform, f, X, y)
        grid = transform.theta_grid()
        share = self.share(transform, grid)
        return self.worst_of(f, transform.orbit(X), share, y, rho, self.factor(transform, grid, share))

    def finest(self, transform: Transform) -> Array:
        """Return parameters between the members of the orbit, on the grid of ``verify()``.

        Parameters
        ----------
        transform : Transform
            One of the transforms of the block.

        Returns
        -------
        array of shape (s, q)
        """
        return finest_grid(transform)

    # ------------------------------------------------------------------ the problem

    def has_columns(self, sample: Sample) -> bool:
        # A closed form replaces the columns.
        if not self._has_closed_form(sample):
            return True
        if self.method == "auto":
            return sample.X_train.size > FEW
        return self.method not in ("closed", "pegasos")

    def entry_changes(self, sample: Sample) -> tuple[Array, Array, Array] | None:
        if not self._has_closed_form(sample):
            return None
        return limits_and_factors(self.groups(sample.labels), sample.n_train)

    def start(self, sample: Sample) -> OrbitColumns:
        # The first columns are none, or all members of all orbits.
        columns = None if self.streamed else self.listed(sample.X_train, sample.labels)
        if self._lists_deletions(sample) and not self.streamed:
            orbit = over_rows(self.transform.orbit, sample.X_train)
            columns = OrbitColumns.empty(sample.X_train, orbit, self.transform.parameters(sample.X.shape[1]))
        if columns is None:
            return OrbitColumns.empty(sample.X_train)
        return columns.complete(self.demand) if self._starts_complete(sample, columns) else columns

    def _starts_complete(self, sample: Sample, columns: OrbitColumns) -> bool:
        if self.method != "auto":
            return self.method == "all"
        assert columns.orbit is not None
        linear = sample.model is not None and sample.model.linear
        return (linear and columns.orbit[..., 0].size <= FEW) or self._draws_centres(sample)

    def build(self, f: Any, view: Building) -> Terms:
        import cvxpy as cp

        if len(view.rows) == 0:
            return Terms()
        sample = view.sample
        if not self.has_columns(sample):
            return Terms(constraints=worst_feature_constraints(self.groups(sample.labels), f, view))
        columns = view.state
        if self.streamed:
            listed = self.listed(sample.X_train, sample.labels)
            assert listed is not None
            columns = listed.complete(self.demand)
        state, places = columns.of_rows(view.rows, sample.n_train)
        if len(state) == 0:
            return Terms()
        y = sample.y[state.rows]
        rho = sample.margin[state.rows]
        xi = view.slack[places]
        scaling = self.scalings(state.thetas, state.demands)
        margins = cp.multiply(scaling * y, f(state.points)) >= state.demands * rho - xi
        return Terms(constraints={self.column_label: margins})

    def refine(self, f: Any, view: Solved) -> Step | None:
        # Violated members of the orbits are added first, then violated points between members.
        if len(view.rows) == 0:
            return None
        if view.settled:
            return next_between(self, f, view) if self.continuous else None
        if view.sample.model is None or not self.has_columns(view.sample):
            return None
        return next_columns(self, f, view, final=not self.continuous)

    # ------------------------------------------------------------------ after the fit

    def row_duals(self, view: Solved) -> Array:
        if "closed" in view.duals:
            found = np.zeros(len(view.rows))
            _, places = rows_and_slack(view, scaled_rows(self.groups(view.sample.labels), view.sample))
            found[places] = np.abs(view.duals["closed"])
            return found
        _, places = view.state.of_rows(view.rows, view.sample.n_train)
        duals = np.asarray(view.duals.get(self.column_label, np.empty(0)))
        return np.bincount(places[: len(duals)], np.abs(duals), minlength=len(view.rows))

    def findings(self, f: Any, view: Solved) -> WorstCase | None:
        # The findings are the active worst-case points, if the method lists points.
        if self.streamed or not self.has_columns(view.sample):
            return None
        rows = view.rows
        assert rows is not None
        state, _ = view.state.of_rows(rows, view.sample.n_train)
        duals = np.abs(view.duals.get(self.column_label, np.empty(0)))
        duals = duals * self.scalings(state.thetas, state.demands)[: len(duals)]  # the factor of f
        q = state.thetas.shape[1]
        return WorstCase.of(
            view,
            np.concatenate([rows, state.rows]),
            stack(view.sample.X[rows], state.points),
            np.concatenate([view.alpha, duals]),
            np.vstack([np.zeros((len(rows), q)), state.thetas]) if q else None,
        )

    def verify(self, f: Any, view: Solved) -> Verdict:
        # Every slack must cover the worst transformation, which is sampled if ``continuous``.
        if self.continuous:
            return verify_between(self, f, view)
        required, found = worst_members(self, f, view)
        text = f"{self.requirement} for every transformation of {len(view.rows)} rows"
        return Verdict.at_points(view.slack - required, found.points, text, view.tol)

    @property
    def requirement(self) -> str:
        """The constraint in plain text, for ``verify()``."""
        return f"{'' if isinstance(self.scaling, str) else 'Gamma '}y f >= Delta rho - xi"

    def words(self) -> str:
        return f"every row{self.which_rows()} keeps its class under {self.transform!r}"
