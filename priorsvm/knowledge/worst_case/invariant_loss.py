r"""The worst of all moves: the loss of a row is the largest over its orbit."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from ..._utils.arrays import Array, as_keys, stack
from ..._utils.checks import check_flag, described, is_number
from ..._utils.parallel import over_rows
from ...errors import InvalidInput, InvalidType, MissingCapability
from ...sample import Sample
from ...transforms.base import Transform
from ...transforms.features import FeatureScaling
from ..base import Context, Knowledge, Terms, Verdict
from .base import WorstCase

# Up to this many members of orbits a linear machine takes all of them at once: cheaper than rounds.
FEW = 20_000
# A multiplier below this share of the largest one holds nothing up: its column leaves the problem.
HOLDS = 1e-6
# So many moves may join in a round however few hold f up: problems of that size cost nothing.
AT_LEAST = 30
# Between two members of an orbit a continuous move is looked at in so many places, and in more to verify it.
FINER = 16
FINEST = 50
# By so much the margin may be missed between the places looked at.
CONTINUOUS = 1e-3


@dataclass(frozen=True, eq=False)
class Columns:
    r"""The members of the orbits that stand in the problem.

    Attributes
    ----------
    rows : (m,) array, the training row of each.
    points : (m, d) array, sparse if X is.
    demands : (m,) array, :math:`\Delta`, the share of the margin asked for there.
    thetas : (m, q) array.
    moves : (m,) array, which member of the orbit it is, -1 for one that is not listed.
    orbit : (n, s, d) array of all members, or None where they cannot be listed.
    grid : (s, q) array, their parameters.
    resting : (n,) array, whether a training row where it stands held nothing up; None before the first round.
    level : the objective when columns last left the problem.
    """

    rows: Array
    points: Array
    demands: Array
    thetas: Array
    moves: Array
    orbit: Array | None = None
    grid: Array | None = None
    resting: Array | None = None
    level: float = -np.inf

    parts: ClassVar[tuple[str, ...]] = ("rows", "demands", "thetas", "moves")

    def __len__(self) -> int:
        return len(self.rows)

    def pick(self, which: Array) -> Self:
        """Some of them."""
        return replace(self, **{part: getattr(self, part)[which] for part in ("points", *self.parts)})

    def joined(self, new: Self) -> Self:
        """These and others."""
        both: dict[str, Any] = {
            part: np.concatenate([getattr(self, part), getattr(new, part)]) for part in self.parts
        }
        return replace(self, points=stack(self.points, new.points), **both)


class InvariantLoss(Knowledge):
    r"""The loss of every training row is the worst over all the ways it may be moved.

    .. math:: \xi_i = \sup_\theta \left[\Delta(\theta)\,\rho_i - y_i f(T_\theta x_i)\right]_+
              \quad\text{or}\quad \sup_\theta \Delta(\theta) \left[\rho_i - y_i f(T_\theta x_i)\right]_+ ,

    the first with ``scaling="margin"``, the second with ``"slack"``. Virtual samples take the sum over the
    orbit where this takes the worst of it, so one row never counts more than once, and few moves of few rows
    end up holding the boundary. Those are found by column generation: solve, look for the worst moves, add
    them, until what is missing is below ``tol``; lower and upper bound are in ``history_``. Exact on every
    machine.

    Parameters
    ----------
    transform : Transform
        With a finite orbit; or :class:`FeatureScaling` or :class:`FeatureDeletion` on a linear machine.
    cost : number, function or None
        :math:`\Delta(\theta)`, from 0 to 1: how much of the margin strong moves are asked for. A number is
        that of the strongest moves, falling from 1 in between; a function takes the (s, q) parameters.
    scaling : "margin" or "slack"
        Where :math:`\Delta` stands.
    method : "auto", "columns", "all", "closed" or "pegasos"
        Column generation; all of the orbit at once; for :class:`FeatureScaling` a closed form of N x d
        auxiliary variables. "auto" takes all of up to 20000 members on a linear machine, else columns.
        "pegasos" is for linear machines of very many rows: passes through them in small batches, at most
        ``max_rounds``, until the bounds meet to ``tol``; 1e-2 is what it is good for.
    continuous : bool
        Moves between the members of the orbit count too: once these are dealt with, worst moves in between
        are looked for, until there is none either. For transforms that are continuous.
    confusion : dict of (class, other class) to number, optional
        With ``multi_class="joint"``: a factor on :math:`\Delta` for taking the one for the other, 1 if not
        listed.

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

    shares_slack: ClassVar[bool] = True
    way_out_of_collapse: ClassVar[str] = (
        "Moved rows of both classes overlap too much: allow fewer or smaller moves."
    )
    latex: ClassVar[dict[str, str]] = {
        "columns": r"y_i f(T_\theta x_i) \ge \Delta(\theta)\,\rho_i - \xi_i \text{ for the moves found}",
        "scaled": r"\Delta(\theta) (\rho_i - y_i f(T_\theta x_i)) \le \xi_i \text{ for the moves found}",
        "joint": r"f_{y_i}(T_\theta x_i) - f_k(T_\theta x_i) \ge \Delta(y_i, k, \theta)\,\rho_i - \xi_i"
        r" \text{ for the moves and classes found}",
        "joint_slack": r"\Delta(y_i, k, \theta) (\rho_i - f_{y_i}(T_\theta x_i) + f_k(T_\theta x_i))"
        r" \le \xi_i \text{ for the moves and classes found}",
        "closed": r"y_i f(x_i) - k z_i - \textstyle\sum_j v_{ij} \ge \rho_i - \xi_i",
        "gains": r"z_i + v_{ij} \ge \max((1 - l)\, y_i x_{ij} w_j,\; (1 - u)\, y_i x_{ij} w_j)",
    }
    letters: ClassVar[dict[str, str]] = {
        r"T_\theta": r"\text{the move by } \theta",
        r"\Delta(\theta)": r"\text{the part of the margin that a move so strong is asked for}",
        r"\Delta(y_i, k, \theta)": r"\text{the same, times what taking } y_i \text{ for } k \text{ costs}",
        "k": r"\text{how many entries may be changed at once}",
        "z_i": r"\text{with } v_{ij} \text{ variables, the dual of choosing them}",
        "l": r"\text{with } u \text{ the range of the factors on an entry}",
    }

    def __init__(
        self,
        transform: Any,
        cost: Any = None,
        scaling: str = "margin",
        method: str = "auto",
        continuous: bool = False,
        confusion: Any = None,
    ):
        self.transform = transform
        self.cost = cost
        self.scaling = scaling
        self.method = method
        self.continuous = continuous
        self.confusion = confusion

    # ------------------------------------------------------------------ what was asked

    @property
    def takes_sparse(self) -> bool:
        return isinstance(self.transform, FeatureScaling)

    def validate(self, sample: Sample) -> None:
        transform = self.transform
        if not isinstance(transform, Transform):
            raise InvalidType(
                f"transform must be a Transform, got {described(transform)}. "
                "FromFunction(function, thetas) makes one of a function."
            )
        for name, allowed in (
            ("scaling", ("margin", "slack")),
            ("method", ("auto", "columns", "all", "closed", "pegasos")),
        ):
            if getattr(self, name) not in allowed:
                raise InvalidInput(
                    f"{name} must be one of {', '.join(map(repr, allowed))}, got {getattr(self, name)!r}."
                )
        transform.validate(sample.X.shape[1])
        check_flag(continuous=self.continuous)
        if self.method == "pegasos":
            self._check_streaming(sample)
        if isinstance(transform, FeatureScaling):
            if sample.machine is not None and sample.machine.kernel is not None:
                raise MissingCapability(
                    f"the worst case of {type(transform).__name__} is known for linear machines only: use "
                    "kernel='linear'."
                )
            for name, value in (("cost", self.cost is not None), ("continuous", self.continuous)):
                if value:
                    raise InvalidInput(
                        f"{name} has no meaning with {type(transform).__name__}: leave it out."
                    )
            if self.method == "all":
                raise InvalidInput(
                    f"method='all' needs a list of moves, which {type(transform).__name__} has not."
                )
            return
        if self.method == "closed":
            raise InvalidInput(
                "method='closed' is for FeatureScaling and FeatureDeletion. Use 'columns' or 'all'."
            )
        full = float(self.demand(transform.theta_grid())[0])
        if full != 1:
            raise InvalidInput(
                f"cost must be 1 for the row itself, where theta is 0, and it is {full:g}. "
                "SampleCosts(margins=...) asks less of rows."
            )
        transform.orbit(sample.X_train[:1])
        if self._drawn_centres(sample) and (self.method == "columns" or self.continuous):
            asked = "continuous=True" if self.continuous else "method='columns'"
            raise InvalidInput(
                f"n_centres draws the centres of f from all moved rows at once, which {asked} does not know "
                "beforehand. Use method='auto' without continuous, n_centres=None, or norm='l1'."
            )
        if self.continuous:
            transform.span()  # refuses discrete ones
            if transform.n_parameters == 0:
                raise InvalidInput("continuous=True needs a transform that has moves.")
            thetas, _ = self.between(FINER)
            with_all = thetas[np.count_nonzero(thetas, axis=1).argmax()]
            try:
                transform.apply(sample.X_train[:1], with_all)
            except InvalidInput as error:
                raise InvalidInput(
                    "continuous=True looks at moves by all parameters at once where the orbit has any such, "
                    f"and the transform refuses {with_all.tolist()}: {error}"
                ) from error

    def _drawn_centres(self, sample: Sample) -> bool:
        """Whether the machine draws some centres from the points it is given."""
        spec = sample.machine
        return (
            spec is not None and spec.kernel is not None and spec.norm == "l2" and spec.n_centres is not None
        )

    def _check_streaming(self, sample: Sample) -> None:
        spec = sample.machine
        if spec is not None and (spec.kernel is not None or spec.norm != "l2" or spec.loss != "hinge"):
            raise MissingCapability(
                "method='pegasos' is for linear machines with norm='l2' and loss='hinge': use "
                "method='columns'."
            )
        for name, value, only in (
            ("scaling", self.scaling, "margin"),
            ("continuous", self.continuous, False),
        ):
            if value != only:
                raise InvalidInput(f"method='pegasos' has {name}={only!r} only: use method='columns'.")

    def check_joint(self, sample: Sample) -> None:
        """Refuse what the joint machine has not."""
        if self.method not in ("auto", "columns"):
            raise InvalidInput(f"multi_class='joint' has column generation only, not {self.method!r}.")
        if self.continuous:
            raise InvalidInput("multi_class='joint' has no continuous=True.")
        self.confusions(sample)

    def confusions(self, sample: Sample) -> Array:
        """The factor on the cost of taking each class for each other, (K, K)."""
        classes = sample.classes.tolist()
        factors = np.ones((len(classes), len(classes)))
        given = {} if self.confusion is None else self.confusion
        if not isinstance(given, dict):
            raise InvalidInput(
                f"confusion must be a dict of (class, other class) to number, got {described(given)}."
            )
        for pair, factor in given.items():
            different = isinstance(pair, tuple) and len(pair) == 2 and pair[0] != pair[1]
            if not different or not set(pair) <= set(classes):
                raise InvalidInput(
                    f"confusion has the key {pair!r}: it takes pairs of two different classes of {classes}."
                )
            if not is_number(factor) or not 0 < factor < float("inf"):
                raise InvalidInput(f"confusion of {pair!r} must be a positive number, got {factor!r}.")
            factors[classes.index(pair[0]), classes.index(pair[1])] = factor
        return factors

    def demand(self, thetas: Array) -> Array:
        r""":math:`\Delta` of each move."""
        cost = self.cost
        if cost is None:
            return np.ones(len(thetas))
        if callable(cost):
            given = thetas.view()
            given.flags.writeable = False
            try:
                found = np.asarray(cost(given), float)
            except Exception as error:
                raise InvalidInput(
                    f"cost was given as a function, and calling it with (s, q) parameters failed: {error!r}"
                ) from error
            if found.shape != (len(thetas),) or not ((found >= 0) & (found <= 1)).all():
                raise InvalidInput(
                    "cost must return one number from 0 to 1 for each of the (s, q) parameters it is given; "
                    f"it returned {found!r}."
                )
            return found
        if not is_number(cost) or not 0 <= cost <= 1:
            raise InvalidInput(f"cost must be a number from 0 to 1, a function or None, got {cost!r}.")
        reach = np.abs(self.transform.theta_grid()).max(axis=0)
        strength = (np.abs(thetas) / np.where(reach > 0, reach, 1.0)).max(axis=1, initial=0.0)
        return np.asarray(1.0 - (1.0 - cost) * np.minimum(strength, 1.0))

    def _closed(self, sample: Sample) -> bool:
        if not isinstance(self.transform, FeatureScaling):
            return False
        few = self.method == "auto" and sample.X_train.size <= FEW
        return few or self.method in ("closed", "pegasos")

    # ------------------------------------------------------------------ the problem

    def start(self, sample: Sample) -> Columns:
        none = np.empty(0, int)
        nothing = sample.X_train[:0]
        if isinstance(self.transform, FeatureScaling) or self.method == "pegasos":
            return Columns(none, nothing, np.empty(0), np.empty((0, 0)), none)
        grid = self.transform.theta_grid()
        orbit = over_rows(self.transform.orbit, sample.X_train)
        empty = Columns(none, nothing, np.empty(0), grid[:0], none, orbit, grid)
        few = sample.machine is not None and sample.machine.kernel is None and orbit[..., 0].size <= FEW
        few = few or self._drawn_centres(sample)
        return self._all(empty) if self.method == "all" or (self.method == "auto" and few) else empty

    def _all(self, empty: Columns) -> Columns:
        """The whole of every orbit."""
        assert empty.orbit is not None
        n, s, _ = empty.orbit.shape
        return empty.joined(self._members(empty, *(k.ravel() for k in np.mgrid[:n, 1:s])))

    def _members(self, state: Columns, rows: Array, moves: Array) -> Columns:
        assert state.orbit is not None
        assert state.grid is not None
        thetas = state.grid[moves]
        return Columns(rows, state.orbit[rows, moves], self.demand(thetas), thetas, moves)

    def build(self, f: Any, context: Context) -> Terms:
        import cvxpy as cp

        if context.rows is None:
            return Terms()
        sample = context.sample
        if self._closed(sample):
            return Terms(constraints=self._closed_form(f, context))
        if self.method == "pegasos":
            everything = copy(self)
            everything.method = "all"
            context = replace(context, state=everything.start(sample))
        state, places = self.held(context)
        if len(state) == 0:
            return Terms()
        y = sample.y[state.rows]
        rho = sample.margin[state.rows]
        xi = context.slack[places]
        if self.scaling == "slack":
            scaled = cp.multiply(state.demands * y, f(state.points)) >= state.demands * rho - xi
            return Terms(constraints={"scaled": scaled})
        return Terms(constraints={"columns": cp.multiply(y, f(state.points)) >= state.demands * rho - xi})

    def held(self, context: Context) -> tuple[Columns, Array]:
        """The columns of rows that have a cost, and the places of these rows in the slack."""
        assert context.rows is not None
        place = np.full(context.sample.n_train, -1)
        place[context.rows] = np.arange(len(context.rows))
        kept = place[context.state.rows] >= 0
        return context.state.pick(kept), place[context.state.rows[kept]]

    def _closed_form(self, f: Any, context: Context) -> dict[str, Any]:
        r"""The sum of the k largest gains: the least :math:`k z + \sum v_j` with :math:`z + v_j \ge` each."""
        import cvxpy as cp

        sample = context.sample
        rows = context.rows
        transform = self.transform
        assert rows is not None
        X = sample.X[rows]
        y = sample.y[rows]
        low, high = transform._factors()
        n, d = X.shape
        filled = csr_array(X).tocoo()
        filled.eliminate_zeros()
        of, column = filled.coords
        if len(of) == 0 or transform.k == 0 or low == high:
            return {}
        B = csr_array((y[of] * filled.data, (np.arange(len(of)), column)), shape=(len(of), d)) @ f.coef
        z = cp.Variable(n, nonneg=True, name="z")
        v = cp.Variable(len(of), nonneg=True, name="v")
        total = csr_array((np.ones(len(of)), (of, np.arange(len(of)))), shape=(n, len(of))) @ v
        worst = min(transform.k, d) * z + total
        least = [factor * B for factor in (1.0 - low, 1.0 - high) if factor != 0]
        return {
            "closed": cp.multiply(y, f(X)) - worst >= sample.margin[rows] - context.slack,
            "gains": cp.hstack([z[of] + v] * len(least)) >= cp.hstack(least),
        }

    # ------------------------------------------------------------------ the worst moves

    def shortfall(self, y: Array, rho: Array, demand: Array, values: Array) -> Array:
        """What a move asks of the slack."""
        if self.scaling == "slack":
            return np.asarray(demand * (rho - y * values))
        return np.asarray(demand * rho - y * values)

    def worst_moves(self, f: Any, sample: Sample, rows: Array) -> tuple[Array, Any]:
        """For each of these training rows the margin that its worst move asks for, and where it leads."""
        X = sample.X[rows]
        y = sample.y[rows]
        rho = sample.margin[rows]
        if isinstance(self.transform, FeatureScaling):
            return rho, self.transform.worst(X, f.coef, y)
        orbit = self.transform.orbit(X)
        demand = self.demand(self.transform.theta_grid())
        moves = np.argmax(self.shortfall(y[:, None], rho[:, None], demand, _values(f, orbit)), axis=1)
        return demand[moves] * rho, orbit[np.arange(len(rows)), moves]

    def worst(self, f: Any, context: Context) -> tuple[Array, Columns]:
        """For each row with a cost the slack that its worst move asks for, and that move."""
        sample = context.sample
        rows = context.rows
        state = context.state
        assert rows is not None
        if state.orbit is None:
            # Rows by the thousand: their orbits are not kept.
            parts = np.array_split(rows, -(-len(rows) // 1000))
            found = [self.worst_moves(f, sample, part) for part in parts]
            demand = np.concatenate([one for one, _ in found])
            points = stack(*(two for _, two in found))
            ones = np.ones(len(rows))
            none = np.empty((len(rows), 0))
            moved = Columns(rows, points, ones, none, np.full(len(rows), -1))
            return demand - sample.y[rows] * f.value(points), moved
        asked = self._listed(f, context)
        moves = np.argmax(asked, axis=1)
        return asked[np.arange(len(rows)), moves], self._members(state, rows, moves)

    def _listed(self, f: Any, context: Context) -> Array:
        """The slack that every member of the orbit of every row with a cost asks for, (n, s)."""
        sample = context.sample
        rows = context.rows
        orbit = context.state.orbit
        y = sample.y[rows][:, None]
        rho = sample.margin[rows][:, None]
        if context.scores is None:
            values = f.value(orbit[rows].reshape(-1, orbit.shape[2])).reshape(len(y), -1)
        else:
            values = context.scores[rows]
        return self.shortfall(y, rho, self.demand(context.state.grid), values)

    def refine(self, f: Any, context: Context) -> Columns | None:
        sample = context.sample
        state = context.state
        if self._closed(sample) or context.rows is None or sample.machine is None:
            return None
        if state.orbit is None:
            worst, found = self.worst(f, context)
        else:
            asked = self._listed(f, context)
            worst = asked.max(axis=1)
        missing, allowed, enough = self._missing(context, worst)
        context.notes["columns"] = len(state)
        if not self.continuous:  # there the members of the orbit are not all that is asked
            context.notes["needed"] = worst
        # In the sum, and for each row, however little it costs.
        if missing <= allowed and np.max(worst - context.slack) <= 5 * context.tol:
            return None
        duals = np.concatenate([np.empty(0), *context.duals.values()])
        assert context.alpha is not None
        own, holding = (np.abs(a) > HOLDS * context.largest for a in (context.alpha, duals))
        if state.orbit is None:
            known = set(zip(state.rows.tolist(), as_keys(state.points), strict=True))
            fresh = [k not in known for k in zip(found.rows.tolist(), as_keys(found.points), strict=True)]
            new = found.pick((worst - context.slack > enough) & fresh)
        else:
            most = min(len(own), max(AT_LEAST, int(own.sum() + holding.sum())))
            new = self._most_missed(asked - context.slack[:, None], enough, most, context)
        if len(new) == 0:
            return None
        resting = np.zeros(sample.n_train, bool)
        resting[context.rows[~own]] = True
        # Where the bias, or a 1-norm machine, is not unique, f can change and the objective stay. Columns
        # that left then would come back, and leave again: they have to wait until it has risen.
        if len(holding) == len(state) and context.objective > state.level + 0.1 * allowed:
            state = replace(state.pick(holding), level=context.objective)
        return replace(state, resting=resting).joined(new)

    def _most_missed(self, excess: Array, enough: float, most: int, context: Context) -> Columns:
        """The moves that miss most: first one of each row, then others of any row.

        One move of every row that misses would be too many at first, when f is far from what it will be,
        and too few in the end, when few rows are left and need several each. Without the first of each row
        a long list of moves would send in neighbours, which ask for nearly the same.
        """
        state = context.state
        rows = context.rows
        assert rows is not None
        listed = state.moves >= 0
        known = np.zeros((context.sample.n_train, excess.shape[1]), bool)
        known[state.rows[listed], state.moves[listed]] = True
        missed = (excess > enough) & ~known[rows]
        first = np.zeros_like(missed)
        first[np.arange(len(rows)), np.where(missed, excess, -np.inf).argmax(axis=1)] = True
        places = np.flatnonzero(missed)
        order = np.lexsort((-excess.ravel()[places], ~first.ravel()[places]))
        row, move = np.unravel_index(np.sort(places[order[:most]]), excess.shape)
        return self._members(state, rows[row], move)

    def _missing(self, context: Context, asked: Array) -> tuple[float, float, float]:
        """What the objective is short of if slacks must be as asked, what may be missing, and the violation
        that needs no column: all such together are no more than a tenth of what may be missing."""
        sample = context.sample
        spec = context.sample.machine
        assert spec is not None
        cost = spec.C * sample.cost[context.rows]
        have = np.maximum(context.slack, 0.0)
        missing = cost @ np.maximum(spec.penalise(np.maximum(asked, 0.0)) - spec.penalise(have), 0.0)
        allowed = context.tol * min(1.0 + abs(context.objective), cost.sum())
        return float(missing), allowed, 0.1 * allowed / cost.sum()

    def settle(self, f: Any, context: Context) -> Columns | None:
        if not self.continuous or context.rows is None:
            return None
        thetas, neighbours = self.between(FINER)
        asked = self._asked(f, context, thetas)
        theta, guessed = _tops(thetas, neighbours, asked)
        _, _, enough = self._missing(context, guessed)
        near = np.flatnonzero(guessed - context.slack > enough)
        # The tops of parabolas are guesses: f itself has the last word, there and at the places looked at.
        found, value = self._moved(f, context, near, theta[near])
        placed, at_place = self._moved(f, context, near, thetas[np.argmax(asked[near], axis=1)])
        worst = asked.max(axis=1)
        worst[near] = np.maximum(value, at_place)
        missing, allowed, _ = self._missing(context, worst)
        context.notes["needed"] = worst
        new = worst[near] - context.slack[near] > enough
        if missing <= allowed or not new.any():
            return None
        better = value >= at_place
        return context.state.joined(found.pick(new & better)).joined(placed.pick(new & ~better))

    def _moved(self, f: Any, context: Context, which: Array, thetas: Array) -> tuple[Columns, Array]:
        """Some of the rows with a cost, each moved by a parameter of its own, and the slack that asks for."""
        assert context.rows is not None
        sample = context.sample
        rows = context.rows[which]
        points = np.empty((len(rows), sample.X.shape[1]))
        for k, theta in enumerate(thetas):
            points[k] = self.transform.apply(sample.X[rows[[k]]], theta)[0]
        demand = self.demand(thetas)
        unlisted = np.full(len(rows), -1)
        asked = self.shortfall(sample.y[rows], sample.margin[rows], demand, f.value(points))
        return Columns(rows, points, demand, thetas, unlisted), asked

    def finest(self) -> Array:
        """As many moves between the members of the orbit as can be looked at."""
        try:
            return self.between(FINEST)[0]
        except InvalidInput:  # too many of them
            return self.between(FINER)[0]

    def between(self, count: int) -> tuple[Array, Array]:
        """Parameters on the lines between the members of the orbit, ``count`` from one to the next, and the
        places of their neighbours along the line (-1 where it ends), (k, 2)."""
        grid = self.transform.theta_grid()
        q = grid.shape[1]
        axes = [_finer(np.unique(grid[:, j]), count) for j in range(q)]
        if q > 1 and not (np.count_nonzero(grid, axis=1) <= 1).all():
            size = int(np.prod([len(a) for a in axes]))
            if size > 20_000:
                raise InvalidInput(
                    f"continuous=True would look at {size} moves: use fewer steps or parameters."
                )
            box = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, q)
            return box, np.full((len(box), 2), -1)
        thetas = np.concatenate([np.outer(a, e) for a, e in zip(axes, np.eye(q), strict=True)])
        place = np.arange(len(thetas))
        ends = np.cumsum([len(a) for a in axes])
        neighbours = np.column_stack([place - 1, place + 1])
        neighbours[np.concatenate([[0], ends[:-1]]), 0] = -1
        neighbours[ends - 1, 1] = -1
        return thetas, neighbours

    def _asked(self, f: Any, context: Context, thetas: Array) -> Array:
        """The slack that each of these moves of each row with a cost asks for, (n, k)."""
        sample = context.sample
        rows = context.rows
        y = sample.y[rows, None]
        rho = sample.margin[rows, None]
        values = over_rows(partial(_moved_values, f, self.transform, thetas), sample.X[rows])
        return self.shortfall(y, rho, self.demand(thetas), values)

    # ------------------------------------------------------------------ after the fit

    def multipliers(self, context: Context) -> Array:
        assert context.rows is not None
        if "closed" in context.duals:
            return np.abs(context.duals["closed"])
        _, places = self.held(context)
        duals = np.concatenate([np.zeros(0), *context.duals.values()])
        return np.bincount(places[: len(duals)], np.abs(duals), minlength=len(context.rows))

    def findings(self, f: Any, context: Context) -> WorstCase | None:
        if self.method == "pegasos" or self._closed(context.sample):
            return None  # they name no moves
        assert context.rows is not None
        assert context.alpha is not None
        state, _ = self.held(context)
        duals = np.abs(np.concatenate([np.empty(0), *context.duals.values()]))
        if self.scaling == "slack":  # there f stands with a factor in the constraint
            duals = duals * state.demands
        q = state.thetas.shape[1]
        points = context.sample.X[context.rows]
        rows = context.rows
        return WorstCase.of(
            context,
            np.concatenate([rows, state.rows]),
            stack(points, state.points),
            np.concatenate([context.alpha, duals]),
            np.vstack([np.zeros((len(rows), q)), state.thetas]) if q else None,
        )

    def verify(self, f: Any, context: Context) -> Verdict:
        assert context.rows is not None
        rows = context.rows
        if self.continuous:
            thetas = self.finest()
            asked = self._asked(f, context, thetas)
            i, k = np.unravel_index(int(np.argmax(asked - context.slack[:, None])), asked.shape)
            excess = (context.slack[:, None] - asked).ravel()
            tol = max(CONTINUOUS, context.tol)
            asks = f"y f >= Delta rho - xi for moves between members too, of {len(rows)} rows, to {tol:g}"
            where = self.transform.apply(context.sample.X[rows[[i]]], thetas[k])[0]
            violated = int(np.sum(excess < -tol))
            return Verdict(violated == 0, float(excess.min()), where, False, len(excess), asks, violated)
        asked, found = self.worst(f, context)
        asks = f"y f >= Delta rho - xi for every move of {len(rows)} rows"
        return Verdict.at_points(context.slack - asked, found.points, asks, context.tol)

    def words(self) -> str:
        return f"every row keeps its class whatever {self.transform!r} does to it"


def _values(f: Any, orbit: Array) -> Array:
    """f at all members of orbits, (n, s)."""
    n, s, d = orbit.shape
    return np.asarray(f.value(orbit.reshape(-1, d)).reshape(n, s))


def _moved_values(f: Any, transform: Transform, thetas: Array, X: Array) -> Array:
    """f at rows moved by each of the parameters, (n, k)."""
    return np.column_stack([f.value(transform.apply(X, theta)) for theta in thetas])


def _finer(values: Array, count: int) -> Array:
    """These values and ``count`` - 1 more between each two of them."""
    steps = np.arange(count * (len(values) - 1) + 1) / count
    return np.interp(steps, np.arange(len(values)), values)


def _tops(thetas: Array, neighbours: Array, asked: Array) -> tuple[Array, Array]:
    """For each row the highest top of a parabola through a place and its neighbours: where, and how high."""
    before, after = neighbours.T
    left = asked[:, before]
    right = asked[:, after]
    bend = left - 2 * asked + right
    local = (before >= 0) & (after >= 0) & (asked >= left) & (asked >= right) & (bend < 0)
    shift = np.where(local, 0.5 * (left - right) / np.where(local, bend, -1.0), 0.0)
    tops = asked - 0.25 * (left - right) * shift
    best = np.argmax(tops, axis=1)
    shift = shift[np.arange(len(asked)), best][:, None]
    forward = thetas[after[best]] - thetas[best]
    backward = thetas[best] - thetas[before[best]]
    moved = thetas[best] + shift * np.where(shift > 0, forward, backward)
    return moved, tops[np.arange(len(asked)), best]
