r"""The base of all region blocks: everywhere on a set of points, f satisfies a bound."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..._utils.arrays import Array, distinct_rows
from ..._utils.checks import check_choice, check_flag, check_nonnegative, is_whole
from ..._utils.messages import warn
from ...errors import InvalidInput, MissingCapability
from ...function.memory import refuse_count
from ...sample import Sample
from ...spec import Spec
from ..base import Formulas, Knowledge, Terms
from ..cautions import Checked, texts
from ..checks import check_points
from ..traits import AtPoints, AutoWeight, Iterative
from ..views import Building, Caution, PointTerms, Solved, Step, Verdict
from .against import not_kept, outbid, zeroing
from .cuts import Cuts
from .exact import Exact, exact_constraints
from .groups import on_values
from .guaranteed import Guaranteed, at_corners
from .method import Method
from .on_rows import Pool, inside_as_given, points_on_rows, require_values
from .points import MOST_POINTS, Points, at_points, given_points, point_terms
from .requirement import Requirement
from .row_set import RowSet
from .rows_inside import (
    GivenWeight,
    RowsInside,
    area_alone,
    checked_range,
    leaves_free,
    names_class,
    rows_inside,
)
from .search import Search
from .sets import SEARCHED, BoxSet, EllipsoidSet, PolyhedronSet, Set
from .verdict import verdict_on
from .vertices import vertex_terms
from .within import bounds_of, column_name, limits_in_words, require_bounded

# What a block means: rows as they occur, all points of its regions, or what its other parameters require.
HOLDS = ("auto", "rows", "everywhere")
# Weight of a block on rows, as a number of rows, for many rows and few blocks.
ROWS = 5.0


class RegionKnowledge(AutoWeight, AtPoints, Iterative, Knowledge):
    r"""Requirements :math:`s_l f(x) \ge 1 - \zeta_l` for each region :math:`R_l`.

    On rows, the requirement applies to M rows as they occur, and a soft block adds these rows:
    :math:`J_{PK} = \frac{C \mu}{M} \sum_p \zeta_p`. Everywhere, it applies to all :math:`x \in R_l`, with
    :math:`J_{PK} = C \mu \sum_l \zeta_l`. In both cases ``mu`` is a number of rows. Hard: :math:`\zeta = 0`.

    Subclasses define the regions (``requirements``). Everywhere, a method imposes them on f. Each has a
    module:

    * ``exact``: on a linear model, the least value of f over the region is a constraint;
    * ``points``: the requirement at fixed points;
    * ``cuts``: a search for the worst points, which enter the problem until none is violated;
    * ``guaranteed``: cells cover the region, and a bound on f in each cell is a constraint.
    """

    methods: ClassVar[Mapping[str, type[Method]]] = {
        "auto": Cuts,
        "cuts": Cuts,
        "points": Points,
        "guaranteed": Guaranteed,
    }
    max_dimension: ClassVar[int] = 4
    way_out_of_collapse: ClassVar[str | None] = "Soften it, shrink its region, or use another kernel."
    # <z> is the place of the slack of a soft block. It is removed for a hard block.
    templates: ClassVar[dict[str, str]] = {
        "sample": r"\frac{C \mu}{M} \sum_{p=1}^{M} \zeta_p<p>",
        "mu": r"C \sum_l \zeta_l",
        "box": r"s_l (w^\top c_l + b) - r_l^\top v \ge 1<z>",
        "size": r"-v \le w \le v",
        "open": r"s_l w_j \ge 0 \text{ or } \le 0 \text{ where } x_j \text{ is unbounded}",
        "dual": r"B_l^\top u_l + s_l w = 0,\; u_l \ge 0",
        "value": r"s_l b - d_l^\top u_l \ge 1<z>",
        "cone": r"s_l f(c_l) - \|A_l^\top w\| \ge 1<z>",
        "points": r"s_l f(x_p) \ge 1 + \delta_p<z>,\; \delta_p \ge 0",
        "corners": r"s_l f(v_p) - \varepsilon_p \|g\|_H \ge 1<z>",
    }
    letters_of_regions: ClassVar[dict[str, str]] = {
        "s_l": r"+1 \text{ or } -1, \text{ the class of region } l",
        r"\zeta_l": r"\text{the slack of region } l",
        r"\zeta_p": r"\text{the slack of row } p \text{ in the region, one of } M \text{ added rows}",
        "c_l": r"\text{the centre of region } l",
        "r_l": r"\text{the half-widths of region } l",
        "v": r"\text{variables, upper bounds of the absolute weights}",
        "B_l": r"\text{with } d_l \text{ the inequalities } B_l x \le d_l \text{ of region } l",
        "u_l": r"\text{variables, the dual variables of these inequalities}",
        "z_l": r"\text{variables, the residuals}",
        "A_l": r"\text{the shape of the ellipsoid } \{c_l + A_l z : \|z\| \le 1\}",
        "x_p": r"\text{a point of region } l",
        r"\delta_p": r"\text{tightening added at the point, initially 0}",
        "v_p": r"\text{a corner of the cells that cover region } l",
        r"\varepsilon_p": r"\text{how far } f \text{ of norm 1 can fall around the corner}",
        r"\|g\|_H": r"\text{the norm of } g = f - b",
        r"\mu": r"\text{the weight of the block, in rows}",
        "M": r"\text{the number of rows that the block adds}",
    }

    accepts: ClassVar[frozenset[str]] = frozenset({"dense", "chunks"})
    counts_rows: ClassVar[frozenset[str]] = frozenset({"mu", "mu_residual"})

    mu: Any
    hard: bool
    method: str
    points: Any
    max_cells: int
    holds: str
    unlabeled: Any

    # ------------------------------------------------------------------ what the block means

    @property
    def on_rows(self) -> bool:
        """Whether the block applies to rows as they occur, not to all points of its regions."""
        if self.holds == "auto":
            return not self.hard and self.method == "auto"
        return self.holds == "rows"

    @property
    def prepares(self) -> str | None:  # type: ignore[override]
        """Whether the block adds rows."""
        return None if self.builds else "adds"

    @property
    def builds(self) -> bool:  # type: ignore[override]
        """Whether the block adds terms; a soft block on rows adds rows instead."""
        return self.hard or not self.on_rows

    @property
    def refines(self) -> bool:  # type: ignore[override]
        """Whether the points change between rounds; rows that a soft block adds stay."""
        return self.builds

    def applies_to_rows(self, linear: bool) -> bool:
        """Return whether the block applies to rows as they occur on a linear model, or on a kernel model."""
        return self.on_rows

    def needs_weight(self, linear: bool) -> bool:
        return self.applies_to_rows(linear) and not self.hard

    def standard_weight(self, rows: int, blocks: int) -> float:
        return min(ROWS, rows / 4, rows / blocks)

    def row_requirements(self, sample: Sample) -> list[Requirement]:
        """Return the requirements of a block on rows: open sides are not closed at the range of the data."""
        within = getattr(self, "within", None)
        literal: Any = copy.copy(self)
        if isinstance(within, dict):
            given = bounds_of(within, self._named(sample), "within")
            literal.within = dict(enumerate(zip(given.low, given.high, strict=True)))
        elif isinstance(within, str) and within == "data":
            literal.within = None
        requirements = list(literal._present(sample))
        for requirement in requirements:
            require_values(requirement.region, sample)
        return requirements

    @property
    def formulas(self) -> Formulas:  # type: ignore[override]
        """Formulas by label, with a slack if the block is soft."""
        slack = "" if self.hard else r" - \zeta_l,\; \zeta_l \ge 0"
        latex = {name: _with_slack(template, slack) for name, template in self.templates.items()}
        return Formulas(latex, self.letters_of_regions, self._numbers())

    def _numbers(self) -> dict[str, str]:
        """Return the weight of a block that adds rows, whose formula has no penalty to show it."""
        return {} if self.builds else {r"\mu": "mu"}

    def everywhere(self, sample: Sample) -> list[Requirement]:
        """Return the requirements at all points that have one value of each column with categories."""
        return on_values(self._present(sample), sample)

    def requirements(self, sample: Sample) -> list[Requirement]:
        """Return the requirements on f, in the user's units."""
        raise NotImplementedError(f"{type(self).__name__} has to define requirements(sample).")

    def _present(self, sample: Sample) -> list[Requirement]:
        """Return the requirements on classes of this model."""
        return [requirement for requirement in self.requirements(sample) if requirement.sign != 0]

    def check_columns(self, sample: Sample) -> None:
        within = getattr(self, "within", None)
        if isinstance(within, dict):
            bounds_of(within, self._named(sample), "within")

    def validate(self, sample: Sample) -> None:
        if not isinstance(self.mu, str):
            check_nonnegative(mu=self.mu)
        elif self.mu != "auto":
            raise InvalidInput(f"mu must be a nonnegative number or 'auto', got {self.mu!r}.")
        check_flag(hard=self.hard)
        check_choice("holds", self.holds, HOLDS)
        check_choice("method", self.method, self.methods)
        self._unlabeled_rows(sample)
        if sample.model is not None and sample.model.hard and not self.hard:
            raise MissingCapability(
                "the weight of a soft block is a number of rows, which C multiplies, and C is infinite. Use "
                "hard=True, or a finite C."
            )
        limits = f"a whole number of at least 1 and at most {MOST_POINTS}"
        if not is_whole(self.max_cells) or self.max_cells < 1:
            raise InvalidInput(f"max_cells must be {limits}, got {self.max_cells!r}.")
        if is_whole(self.points) and self.points < 1:
            raise InvalidInput(f"points must be {limits}, got {self.points!r}.")
        width = sample.X.shape[1]
        refuse_count("max_cells", self.max_cells, MOST_POINTS, 2 * width)
        if is_whole(self.points):
            refuse_count("points", self.points, MOST_POINTS, width)
        given_points(self.points, sample)
        if self.on_rows:
            self._check_on_rows()
        if self.on_rows and _on_rows(self, sample):
            self._warn_of_rows(self.row_requirements(sample), sample)
            return
        requirements = self.everywhere(sample)
        if sample.model is not None:
            self._check_method(requirements, sample, sample.model)
        self._warn_of_rows(requirements, sample)

    def _check_on_rows(self) -> None:
        """Raise InvalidInput if a method is given, which a block on rows does not use."""
        if self.method != "auto":
            raise InvalidInput(
                f"method={self.method!r} is for holds='everywhere', and holds={self.holds!r} is given. Leave "
                "one of them out."
            )

    def _unlabeled_rows(self, sample: Sample) -> Array | None:
        """Return the unlabelled rows as an array, or None."""
        if self.unlabeled is None:
            return None
        if not self.on_rows:
            raise InvalidInput("unlabeled rows are for holds='rows'. Leave them out, or set holds='rows'.")
        completed = getattr(sample.missing, "completed", None)
        try:
            rows = check_points("unlabeled", self.unlabeled, sample, gaps=completed is not None)
        except InvalidInput as error:
            if "contains NaN" in str(error):
                error.args = (
                    f"{error} Add MissingValues() to the prior, which completes them, or leave rows with "
                    "missing values out, such as by unlabeled.dropna().",
                )
            raise
        return rows if completed is None else completed(rows)

    def _check_method(self, requirements: list[Requirement], sample: Sample, spec: Spec) -> None:
        """Raise if the method cannot impose the requirements on this model."""
        method = self._method(spec.linear, requirements)
        for requirement in requirements:
            if method.needs_bounds:
                require_bounded(requirement.region, getattr(self, "within", "data"), sample)
            method.check(requirement, spec.kernel)
            if requirement.direction is not None and spec.kernel is not None:
                spec.kernel._require("slope")

    def _warn_of_rows(self, requirements: list[Requirement], sample: Sample) -> None:
        """Warn of a block that contradicts the training rows, or may have other units."""
        for caution in self._data_cautions(requirements, sample):
            warn(caution.text, caution.category)

    def _data_cautions(self, requirements: list[Requirement], sample: Sample) -> list[Caution]:
        """Return warnings about the training rows: another class, or other units."""
        if not all(requirement.region.exact for requirement in requirements):
            return []
        found = rows_inside(requirements, self._named(sample))
        return [] if found is None else found.cautions(self.words())

    def _named(self, sample: Sample) -> Sample:
        """Return the sample with the block's own names of the columns."""
        return sample

    def _kind(self) -> type[Method]:
        """Return the method on kernel models."""
        return self.methods[self.method]

    def _method(self, linear: bool, requirements: list[Requirement]) -> Method:
        """Return the method for these requirements: exact if f is linear and has closed forms."""
        kind = self._kind()
        if linear and all(requirement.exact_on_linear for requirement in requirements):
            kind = Exact
        return kind(self.hard, self.points, self.max_cells, self.max_dimension)

    def claims(self, state: Search, linear: bool) -> list[Requirement]:
        if self.applies_to_rows(linear):
            return []
        exact = linear and self.method != "points"
        everywhere = self.hard and (exact or self._kind().everywhere)
        return [r for r in state.requirements if not callable(r.h)] if everywhere else []

    # ------------------------------------------------------------------ the problem

    def start(self, sample: Sample) -> Search:
        """Return the requirements and the points of the first problem."""
        if _on_rows(self, sample):
            pool = Pool.of(sample, self._unlabeled_rows(sample))
            requirements = self.row_requirements(sample)
            count = len(requirements)
            return Search(requirements, [self._row_points(r, pool, count) for r in requirements])
        requirements = self.everywhere(sample)
        linear = sample.model is not None and sample.model.linear
        method = self._method(linear, requirements)
        given = given_points(self.points, sample)
        points = [self._first_points(method, requirement, given, sample) for requirement in requirements]
        return Search(requirements, points)

    def _row_points(self, requirement: Requirement, pool: Pool, alternatives: int = 1) -> Array:
        """Return the points of a region of a block on rows, one of some alternatives."""
        return points_on_rows(requirement.region, pool, alternatives)

    def _first_points(
        self, method: Method, requirement: Requirement, given: Array | None, sample: Sample
    ) -> Array:
        return method.first_points(requirement, given, sample)

    def prepare(self, sample: Sample, state: Search) -> Sample:
        """Return the rows with the points of a soft block on rows, which share the cost ``mu``."""
        if self.builds or not state.requirements:
            return sample
        count = sum(map(len, state.points))
        cost = np.full(count, float(self.mu) / count)
        y = np.concatenate(
            [np.full(len(p), r.sign) for r, p in zip(state.requirements, state.points, strict=True)]
        )
        margin = np.concatenate(
            [r.threshold(p) for r, p in zip(state.requirements, state.points, strict=True)]
        )
        return sample.with_rows(np.vstack(state.points), y, cost, margin)

    def build(self, f: Any, view: Building) -> Terms:
        import cvxpy as cp

        state: Search = view.state
        if not state.requirements or not self.builds:
            return Terms()
        zeta: Any = (
            np.zeros(len(state.requirements))
            if self.hard
            else cp.Variable(len(state.requirements), nonneg=True, name="zeta")
        )
        on_rows = self.applies_to_rows(f.linear)
        if not on_rows and isinstance(self._method(f.linear, state.requirements), Exact):
            constraints = exact_constraints(f, state.requirements, zeta)
        else:
            constraints = {"points": at_points(f, state, zeta)}
            if any(chosen.any() for _, chosen in state.corners):
                constraints["corners"] = at_corners(f, state, zeta)
        return Terms({} if self.hard else {"mu": cp.sum(zeta)}, constraints)

    def at_points(self, view: Building, linear: bool) -> PointTerms | None:
        state: Search = view.state
        model = view.sample.model
        columns = view.sample.X.shape[1]
        if not state.requirements:
            return PointTerms.none(columns)
        if state.corners or model is None:
            return None
        exact = isinstance(self._method(linear, state.requirements), Exact)
        if not exact or self.applies_to_rows(linear):
            return point_terms(state, self.hard)
        width = np.ones(columns) if model.scale is None else model.scale.width
        return vertex_terms(state.requirements, self.hard, width)

    def refine(self, f: Any, view: Solved) -> Step | None:
        if self.applies_to_rows(f.linear) or not view.state.requirements:
            return None
        method = self._method(f.linear, view.state.requirements)
        state = method.settle(f, view) if view.settled else method.refine(f, view)
        return None if state is None else Step(state)

    def relax(self, state: Search, sample: Sample) -> Search | None:
        if _on_rows(self, sample):
            return None
        return self._method(False, state.requirements).relax(state, sample)

    # ------------------------------------------------------------------ the fitted model

    def verify(self, f: Any, view: Solved) -> Verdict:
        state: Search = view.state
        if not state.requirements:
            return Verdict(None, asked="nothing of this class")
        on_rows = self.applies_to_rows(f.linear)
        if on_rows and not view.everywhere:
            return self._verdict_on_rows(f, state, view)
        if on_rows:
            try:
                requirements = self.everywhere(view.sample)
            except InvalidInput as error:  # conditions that have no meaning everywhere
                verdict = self._verdict_on_rows(f, state, view)
                reason = str(error).partition(":\n")[0]
                return replace(verdict, remarks=(f"checked at rows only: {reason}",))
            points = np.vstack([view.sample.X[:0], *state.points])
            state = Search(requirements, [points[r.region.contains(points, SEARCHED)] for r in requirements])
        method = self._method(f.linear, state.requirements)
        tol = max(view.tol, method.accepted)
        sample = self._named(view.sample)
        verdicts = [
            verdict_on(
                f, requirement, points, self.describe(requirement, sample), tol, self.max_dimension, view
            )
            for requirement, points in zip(state.requirements, state.points, strict=True)
        ]
        k = min(range(len(verdicts)), key=lambda k: verdicts[k].worst)
        worst = verdicts[k]
        cost = ""
        if state.covers is not None:
            cost = f" ({state.n_cells} cells, objective {state.gap(view.objective):+.1%} against cuts)"
        return replace(
            worst,
            asked=worst.asked + cost,
            holds=all(v.holds for v in verdicts),
            proven=all(v.proven for v in verdicts),
            checked=sum(v.checked for v in verdicts),
            violated=sum(v.violated for v in verdicts),
            remarks=self._remarks(f, state.requirements[k], view),
        )

    def _verdict_on_rows(self, f: Any, state: Search, view: Solved) -> Verdict:
        """Return how many rows inside the regions have the class of the region."""
        requirements = state.requirements
        sample = self._named(view.sample)
        if self.hard and view.new_rows is None:
            return self._verdict_at_points(f, state, view)
        X, gaps, scores = self._rows_to_check(f, view)
        known = ~np.isnan(scores)
        inside = [rows_of(r.region, X[known], None if gaps is None else gaps[known]) for r in requirements]
        signs = np.array([r.sign for r in requirements])
        # A row in several regions counts once, with its worst value.
        worst = np.where(inside, signs[:, None] * scores[known], np.inf).min(axis=0)
        rows = np.any(inside, axis=0)
        asked = self._asked([replace(r, h=0.0) for r in requirements], sample)
        verdict = Verdict.at_points(worst[rows], X[known][rows], f"{asked}, at rows", view.tol)
        left_out = int(np.sum(~known))
        if not left_out:
            return verdict
        rows_text = "row with missing values was" if left_out == 1 else "rows with missing values were"
        return replace(verdict, remarks=(f"{left_out} {rows_text} left out: no block completes them",))

    def _verdict_at_points(self, f: Any, state: Search, view: Solved) -> Verdict:
        """Return whether a hard block on rows has its margin at its points, which include moved rows."""
        places = [distinct_rows(points)[0] for points in state.points]
        excess = [r.excess(f, points) for r, points in zip(state.requirements, places, strict=True)]
        text = f"{self._asked(state.requirements, self._named(view.sample))}, at rows and moved rows"
        return Verdict.at_points(np.concatenate(excess), np.vstack(places), text, view.tol)

    def _rows_to_check(self, f: Any, view: Solved) -> tuple[Array, Array | None, Array]:
        """Return rows, their missing values, and f: new rows, or training rows and unlabelled rows.

        Rows of weight 0 are left out. The missing values of training rows are part of the region.
        """
        if view.new_rows is not None:
            assert view.new_scores is not None
            return view.new_rows, view.new_gaps, view.new_scores
        unlabeled = self._unlabeled_rows(view.sample)
        X = view.sample.weighted_rows()[0]
        X = X if unlabeled is None else np.vstack([X, unlabeled])
        return X, None, f.value(X)

    def _remarks(self, f: Any, worst: Requirement, view: Solved) -> tuple[str, ...]:
        """Return the range over which the worst requirement was checked, and counts of rows inside."""
        sample = self._named(view.sample)
        slope = worst.direction is not None
        constant = slope and f.linear
        over = ""
        if not constant and (slope or names_class(worst, sample)):
            over = checked_range(worst.region, sample, "" if slope else "any ")
        remarks = [f"checked for {over}"] if over else []
        found = self.findings(f, view)
        inside = str(replace(found, weight=None) if isinstance(found, RowsInside) else found or "")
        return (*remarks, inside) if inside else tuple(remarks)

    def findings(self, f: Any, view: Solved) -> Any:
        """Return counts of training rows inside the regions, the choice of the weight, and all warnings."""
        requirements = view.state.requirements
        found = rows_inside(requirements, self._named(view.sample))
        warnings = view.warnings + self._weight_warnings()
        if found is None:
            return Checked(self.chosen_weight, warnings) if warnings else None
        if all(requirement.region.exact for requirement in requirements):
            warnings = texts(found.cautions(self.words())) + warnings
        return replace(found, weight=self._weight(requirements, view.sample), warnings=warnings)

    def _weight(self, requirements: list[Requirement], sample: Sample) -> Any:
        """Return how the weight was chosen, or the given number; None for a hard block."""
        if self.hard or self.chosen_weight is not None or isinstance(self.mu, str):
            return self.chosen_weight
        own = None if sample.totals is not None else area_alone(requirements, sample)
        return GivenWeight(float(self.mu), own)

    def _weight_warnings(self) -> tuple[str, ...]:
        """Return a text if ``mu="auto"`` chose the weight 0."""
        return () if self.chosen_weight is None else self.chosen_weight.warnings

    def cautions(self, f: Any, view: Solved) -> list[Caution]:
        """Return warnings that a hard block is violated, a soft block is outbid, or weights are zero."""
        state: Search = view.state
        if not state.requirements:
            return []
        on_rows = self.applies_to_rows(f.linear)
        sample = self._named(view.sample)
        method = self._method(f.linear, state.requirements)
        found: list[Caution | None] = []
        if self.hard and not on_rows and method.everywhere:
            tol = max(10 * view.tol, 1e-5, method.accepted)
            found.append(not_kept(f, state, tol, view, self.words(), sample))
        elif not (self.hard or self._weight_warnings()):
            is_outbid = self._outbid(f, view)
            # A warning about the rows names the cause, and comparing them takes longer.
            if is_outbid is not None and not self._data_cautions(state.requirements, view.sample):
                found.append(is_outbid)
        if not on_rows:
            found.append(zeroing(f, view, self.words(), sample))
        return [caution for caution in found if caution is not None]

    def _outbid(self, f: Any, view: Solved) -> Caution | None:
        """Return a warning if f violates the block at most of its places."""
        on_rows = self.applies_to_rows(f.linear)
        return outbid(f, view.state, on_rows, view, self.words(), self.chosen_weight)

    def row_classes(self, sample: Sample) -> Array | None:
        if self.hard:
            return None
        requirements = [r for r in self.row_requirements(sample) if r.region.exact and r.direction is None]
        counted = sample.weights > 0
        signs = [r.sign * (inside_as_given(r.region, sample) & counted) for r in requirements]
        total = np.sum(signs, axis=0) if signs else None
        return None if total is None else np.sign(total)

    def _asked(self, requirements: list[Requirement], sample: Sample) -> str:
        """Return the first requirement in words, and the number of different further requirements."""
        texts = list(dict.fromkeys(self.describe(requirement, sample) for requirement in requirements))
        more = len(texts) - 1
        if not more:
            return texts[0]
        return f"{texts[0]}, and {more} more region{'s' if more > 1 else ''}"

    def describe(self, requirement: Requirement, sample: Sample) -> str:
        """Return a requirement and its region in words."""
        h = "h(x)" if callable(requirement.h) else f"{requirement.h:g}"
        score = sample.positive
        bound = f">= {h}"
        if requirement.sign < 0 and sample.negative is None:
            bound = "<= 0" if h == "0" else f"<= -{h}"
        elif requirement.sign < 0:
            score = sample.negative
        return f"score of {score!r} {bound} {self.where(requirement.region, sample)}"

    def where(self, region: Set, sample: Sample) -> str:
        """Return a region in words: of a box, the columns that it restricts."""
        if not isinstance(region, BoxSet):
            names = {PolyhedronSet: "in the polyhedron", EllipsoidSet: "in the ellipsoid"}
            limits = limits_in_words(getattr(self, "within", None), sample)
            return names.get(type(region), "where g(x) <= 0") + limits
        restricted = np.flatnonzero(~leaves_free(region, sample))
        columns = [
            f"{column_name(j, sample, quoted=False)} from {region.low[j]:g} to {region.high[j]:g}"
            for j in restricted[:3]
        ]
        more = [] if len(restricted) <= 3 else [f"{len(restricted) - 3} more"]
        if not columns:
            return "on the range of the data" if region.bounded else "everywhere"
        return f"for {', '.join([*columns, *more])}"


def _on_rows(block: RegionKnowledge, sample: Sample) -> bool:
    """Return whether a block applies to rows as they occur on the model of a sample."""
    return block.applies_to_rows(sample.model is not None and sample.model.linear)


def rows_of(region: Set, X: Array, gaps: Array | None) -> Array:
    """Return a mask of the rows in a region; conditions about missing values apply to ``gaps`` if given."""
    if gaps is not None and isinstance(region, RowSet):
        return region.holds(X, gaps)
    return region.contains(X)


def _with_slack(formula: str, slack: str) -> str:
    first, mark, rest = formula.partition("<z>")
    if not mark:
        return formula
    term, _, sign = slack.partition(r",\;")
    whole = first + term + rest + (rf",\;{sign}" if sign else "")
    return whole.replace(r"\ge 0 - ", r"\ge -")
