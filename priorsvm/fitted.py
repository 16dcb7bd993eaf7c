"""Attributes and methods of a fitted PriorSVC: coefficients, report, formulation and verification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ._utils.arrays import Array, distinct_rows
from ._utils.checks import check_flag, is_number, is_whole
from ._utils.row_keys import row_names
from .bad_values import explaining_bad_values
from .errors import InvalidInput, MissingCapability, NotFitted
from .function.fitted import FittedKernel, FittedLinear
from .function.memory import refuse_count
from .kernels.set_kernel import OnRows
from .knowledge.traits import Completes, Scores
from .knowledge.views import MAX_CELLS
from .large.detect import refuse_chunks
from .prior import live
from .problem.naming import naming
from .validation import Task, is_precomputed
from .voting import class_scores

# Largest number of cells of a proof, and the numbers that the corners of a cell with 4 columns take.
MOST_CELLS = 10_000_000
CORNERS = 64

if TYPE_CHECKING:
    import cvxpy as cp

    from .explain.formulation import Formulation
    from .explain.report import Report
    from .explain.row import Explanation, Explanations
    from .explain.stability import Stability
    from .explain.verify import Verification
    from .solve.model import BinaryModel


class Unfitted(NotFitted, NotFittedError):
    """An attribute or method that requires a fitted model."""


class MissingAttribute(MissingCapability, AttributeError):
    """An attribute that this kind of model does not have."""


class Findings(dict[str, Any]):
    """Findings by block name, with an error that lists the available names."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"no findings for block {name!r}; available: {list(self)}")


class FittedModel:
    """Base of PriorSVC: everything that can be read from a fitted model."""

    _models: list[BinaryModel]
    _row_names: Array | None
    _truth_columns: list[int]
    classes_: Array
    intercept_: Array
    kernel: Any
    kernel_: Any
    n_features_in_: int
    verbose: int

    def _store(self, task: Task, binaries: list[BinaryModel]) -> None:
        """Keep the result of a fit."""
        self._models = binaries
        self._row_names = task.row_names
        self._truth_columns = task.truth_columns
        self.classes_ = task.classes
        self.kernel_ = task.spec.kernel
        self.intercept_ = np.array([f.bias for binary in binaries for f in binary.functions])

    def _fitted_models(self) -> list[BinaryModel]:
        if not hasattr(self, "_models"):
            raise Unfitted("this PriorSVC is not fitted yet: call fit(X, y) first.")
        return self._models

    def _each(self, values: list[Any]) -> Any:
        """Return the only value, or the list of values with one for each class or pair of classes."""
        return values[0] if len(values) == 1 else values

    @property
    def _one_vs_one(self) -> bool:
        """Whether there is a model for each pair of classes."""
        return self._models[0].training.against is not None

    # ------------------------------------------------------------------ the decision function

    @property
    def _linear(self) -> bool:
        return self._fitted_models()[0].spec.linear

    @property
    def coef_(self) -> Array:
        """Weights in the units of X; linear models only."""
        if not self._linear:
            raise MissingAttribute("coef_ exists for linear models only: use kernel='linear'.")
        return np.vstack([f.coef for m in self._models for f in m.functions if isinstance(f, FittedLinear)])

    @property
    def encoded_names_(self) -> Array:
        """Names of the columns that f depends on, as in ``coef_``.

        A column with categories has one name for each of its values, such as ``sex=female``. Without a
        DataFrame the names are ``x0``, ``x1`` and so on.
        """
        training = self._fitted_models()[0].training
        if training.feature_names is not None:
            return training.feature_names
        return np.array([f"x{j}" for j in range(training.X.shape[1])], dtype=object)

    @property
    def centres_(self) -> Array:
        """Points that f expands over; kernel models only."""
        return distinct_rows(np.vstack([f.centres + 0.0 for f in self._expansions()]))[0]

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of ``centres_``, one row for each decision function; kernel models only."""
        centres = self.centres_
        place = {row.tobytes(): i for i, row in enumerate(centres)}
        expansions = self._expansions()
        coefficients = np.zeros((len(expansions), len(centres)))
        for row, f in zip(coefficients, expansions, strict=True):
            np.add.at(row, [place[z.tobytes()] for z in f.centres + 0.0], f.weights)
        return coefficients

    @property
    def slopes_(self) -> tuple[Array, Array, Array]:
        """Points, directions and coefficients of the derivatives that f expands over; kernel models only.

        A block such as :class:`TangentPenalty` adds derivatives to f. Without ``scale``, their part of f is
        ``kernel_.slope(points, directions, X).T @ coefficients.T``.
        """
        parts = [f.slopes for f in self._expansions()]
        empty = np.empty((0, self._models[0].training.X.shape[1]))
        points = np.vstack([empty, *(part.points for part in parts if part is not None)])
        directions = np.vstack([empty, *(part.directions for part in parts if part is not None)])
        coefficients = np.zeros((len(parts), len(points)))
        start = 0
        for row, part in zip(coefficients, parts, strict=True):
            if part is not None:
                row[start : start + len(part.weights)] = part.weights
                start += len(part.weights)
        return points, directions, coefficients

    def _expansions(self) -> list[FittedKernel]:
        if self._linear:
            raise MissingAttribute(
                "centres_, dual_coef_ and slopes_ exist for kernel models only: a linear model has coef_."
            )
        return [f for m in self._models for f in m.functions if isinstance(f, FittedKernel)]

    @property
    def support_(self) -> Array:
        """Indices of the training rows that are support vectors of at least one binary model."""
        self._require_all_rows("support_", "report_ has sums over all rows")
        return np.flatnonzero(
            np.any([m.support[: m.training.n_train] for m in self._fitted_models()], axis=0)
        )

    # ------------------------------------------------------------------ the solution

    @property
    def solver_(self) -> Any:
        """Name of the solver that solved the problem; a list for several binary models."""
        return self._each([m.outcome.solver for m in self._fitted_models()])

    @property
    def status_(self) -> Any:
        """Status of the solution, such as "optimal" or "time_limit"; a list for several binary models."""
        return self._each([m.outcome.status for m in self._fitted_models()])

    @property
    def n_rounds_(self) -> Any:
        """Number of rounds of iterative blocks; a list for several binary models."""
        return self._each([len(m.history) for m in self._fitted_models()])

    @property
    def objective_(self) -> Any:
        """Value of the objective, computed from f; a list for several binary models."""
        return self._each([m.objective for m in self._fitted_models()])

    @property
    def history_(self) -> Any:
        """List with a dict for each round: objective, gap, rows, solver, seconds.

        For several binary models, a list of these lists.
        """
        return self._each([m.history for m in self._fitted_models()])

    @property
    def problem(self) -> cp.Problem | list[cp.Problem]:
        """``cvxpy.Problem`` that was solved, or an equivalent with the same solution if CVXPY was not used.

        Its variables and constraints have values and dual variables, except after PEGASOS and for a joint
        model.
        """
        self._require_all_rows("problem", "formulation() has its formulas")
        return self._each([m.solved_problem() for m in self._fitted_models()])

    def _require_all_rows(self, attribute: str, instead: str) -> None:
        """Raise MissingAttribute if the training rows were read in chunks."""
        if any(m.sums is not None for m in self._fitted_models()):
            raise MissingAttribute(
                f"{attribute} exists for training rows in memory only: these rows were read in chunks, and "
                f"only the rows near their margins have dual variables of their own. {instead}."
            )

    @property
    def findings_(self) -> Any:
        """Dict from block name to the findings of the block; a list for several binary models."""
        return self._each([Findings(m.findings) for m in self._fitted_models()])

    @property
    def report_(self) -> Report:
        """Table of what every term contributes to the objective, and of how the problem was solved."""
        from .explain.report import report

        return report(self._fitted_models())

    # ------------------------------------------------------------------ explanations

    def formulation(self) -> Formulation:
        """Return the problem that was solved, in LaTeX, block by block.

        Returns
        -------
        Formulation
            Its ``str`` is LaTeX; a notebook renders it.

        Raises
        ------
        NotFitted
            If ``fit`` was not called.

        Examples
        --------
        >>> from priorsvm import OddnessHint, PriorSVC
        >>> "oddness" in str(PriorSVC(OddnessHint()).fit([[0.0], [2.0]], [0, 1]).formulation())
        True
        """
        from .explain.formulation import formulation

        return formulation(self._fitted_models())

    def methods_text(self) -> str:
        """Return a paragraph on the model for a paper: data, model, blocks in words, weights and solver.

        Returns
        -------
        str
            Sentences. Works are cited as ``[@key]``, with the BibTeX keys of the page of references.

        Raises
        ------
        NotFitted
            If ``fit`` was not called.

        Examples
        --------
        >>> from priorsvm import ClassCosts, PriorSVC
        >>> text = PriorSVC(ClassCosts({"ill": 5})).fit([[0.0], [2.0]], ["well", "ill"]).methods_text()
        >>> "errors cost 5 C on class 'ill' and 1 C on class 'well'" in text
        True
        """
        from .explain.methods import methods_text

        self._fitted_models()
        return methods_text(self)

    def explain(self, X: Any) -> Explanation | Explanations:
        r"""Return why rows have their scores: parts by column, rules, near training rows, smallest changes.

        The parts of a score are differences from the score at the mean of the training rows, and add up
        exactly. On a linear model the part of column j is :math:`w_j (x_j - \bar x_j)`. On a kernel model it
        is the Shapley value of the column: the mean effect of replacing the mean by the value of the row,
        over all orders of the columns. Shapley values are exact for RBF kernels and for at most 12 columns,
        otherwise they are estimated from sampled orders.

        Parameters
        ----------
        X : dict, Series, DataFrame or array-like of shape (d,) or (n, d)
            One row, by column name or as an array of shape (d,), or several rows.

        Returns
        -------
        Explanation or list of Explanation
            One explanation for a single row, and a list if X has two dimensions.

        Raises
        ------
        NotFitted
            If ``fit`` was not called.
        InvalidInput
            If a column is unknown or missing.
        InvalidType
            If X is not a row.
        MissingCapability
            If the kernel compares sets of vectors.

        Examples
        --------
        >>> from priorsvm import PriorSVC
        >>> X, y = [[0, 1], [1, 3], [5, 1], [6, 2]], ["healthy", "healthy", "ill", "ill"]
        >>> model = PriorSVC(C=10).fit(X, y)
        >>> model.explain([4, 2])
        class 'ill': the score of 'ill' is +0.4, which is positive
        column                     value  mean   part
        mean of the training rows               +0.05
        x0                             4     3   +0.4
        x1                             2  1.75  -0.05
        score                                    +0.4
        ...
        """
        from .explain.explain_rows import as_rows, explain_rows

        self._fitted_models()
        refuse_chunks(X, "explain")
        rows, single = as_rows(self, X)
        found = explain_rows(self, self._checked_rows(rows), None if single else row_names(X))
        return found[0] if single else found

    def verify(self, X: Any = None, *, max_cells: int = MAX_CELLS, everywhere: bool = False) -> Verification:
        """Return whether f satisfies each block, with the worst point, and whether that is proven or sampled.

        A block on rows, such as a soft rule, is checked at rows: how many rows inside its region have its
        class. A hard block on rows is checked at the rows and moved rows where it requires its margin.

        Parameters
        ----------
        X : array-like of shape (n, n_features), default=None
            New rows. Blocks on rows are checked at these rows, and missing values are completed as in
            ``predict``. For every block with a transform, the dict ``stability`` of the result contains
            the share of these rows that keep their class under all transformations, and the worst
            transformation.
        max_cells : int, default=150000
            Limit on the cells of a proof for one region of a kernel model. Beyond the limit, the verdict
            rests on sampled points. ``verbose=1`` shows the progress of a proof.
        everywhere : bool, default=False
            Check blocks on rows at all points of their regions, with the worst point, too.

        Returns
        -------
        Verification
            ``holds`` is True unless a block is violated; ``checks`` has one verdict for each block.

        Raises
        ------
        NotFitted
            If ``fit`` was not called.
        InvalidInput
            If ``max_cells`` is not a whole number of at least 0, ``everywhere`` is not a bool, or X is given
            and no block applies to new rows.
        TooLarge
            If ``max_cells`` exceeds 10 million.

        Examples
        --------
        >>> from priorsvm import Box, PriorSVC
        >>> model = PriorSVC(Box({0: (2, 3)}, label=1, hard=True)).fit([[0.0], [1.0]], [0, 1])
        >>> model.verify().holds
        True
        """
        from .explain.verify import verify

        whole = is_whole(max_cells) or (is_number(max_cells) and max_cells % 1 == 0)
        if not whole or max_cells < 0:
            raise InvalidInput(f"verify: max_cells must be a whole number of at least 0, got {max_cells!r}.")
        refuse_count("verify: max_cells", int(max_cells), MOST_CELLS, CORNERS)
        check_flag(everywhere=everywhere)
        if X is None:
            models = self._fitted_models()
            return verify(models, int(max_cells), self.verbose, everywhere, truths=self._truths)
        refuse_chunks(X, "verify")
        rows = self._checked_rows(X)
        found = verify(self._models, int(max_cells), self.verbose, everywhere, rows, self._truths)
        return found.of_new_rows(self._stability(rows))

    @property
    def _truths(self) -> list[int]:
        """The columns of X that contained True and False; none in a model of an earlier file."""
        return getattr(self, "_truth_columns", [])

    def _stability(self, X: Any) -> dict[str, Stability]:
        """Return, for every block with a transform, how stable the class of these rows is."""
        from .explain.stability import stability_of
        from .knowledge.by_class import transforms_of

        blocks = {
            name: block
            for binary in self._models
            for name, block, _ in live(binary.members)
            if transforms_of(block)
        }
        on_rows = any(getattr(m.block, "on_rows", False) for m in live(self._models[0].members))
        if not blocks and not on_rows:
            raise InvalidInput(
                "verify(X) checks rules at new rows, and whether transformed rows keep their class, but no "
                "block has a rule on rows or a transform. Call verify() without X."
            )
        coef = self.coef_ if self._linear and not self._one_vs_one else None
        return {
            name: stability_of(block, self._scores, coef, self.intercept_, self.classes_, X)
            for name, block in blocks.items()
        }

    # ------------------------------------------------------------------ scores

    def _checked_rows(self, X: Any) -> Any:
        """Return new rows as a float array, or as compressed rows if sparse."""
        check_is_fitted(self, "_models")
        if isinstance(self.kernel_, OnRows):
            return self.kernel_.encode(X)
        allow_nan = any(isinstance(m.block, Completes) for m in live(self._models[0].members))
        encoding = self._models[0].training.encoding
        if encoding is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
            finite = "allow-nan" if allow_nan else True
            with explaining_bad_values(encoding.without_groups(X)):
                return check_array(encoding.encode(X), ensure_all_finite=finite, input_name="X")
        with explaining_bad_values(X, precomputed=is_precomputed(self.kernel)):
            return validate_data(
                self,
                X,
                reset=False,
                dtype=np.float64,
                accept_sparse="csr" if self._linear else False,
                ensure_all_finite="allow-nan" if allow_nan else True,
            )

    def _scores(self, X: Any) -> Array:
        """Return f at checked rows: (n,) for two classes, (n, n_classes) for more."""
        scores = self._shared_scores(X)
        if scores is None:
            scores = np.column_stack([scores_of(binary, X) for binary in self._models])
        if self._one_vs_one:
            return class_scores(scores, len(self.classes_))
        if scores.shape[1] == 2:  # a joint model of two classes
            scores = scores[:, [1]] - scores[:, [0]]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _shared_scores(self, X: Any) -> Array | None:
        """Return the scores of all classes from one expensive kernel matrix, or None if not useful."""
        binaries = self._models
        if len(binaries) == 1 or self._linear or not self.kernel_.whole:
            return None
        if any(isinstance(m.block, Scores) for m in binaries[0].members):
            return None
        if any(f.slopes is not None for f in self._expansions()):
            return None
        whole = FittedKernel(0.0, self.kernel_, self.centres_, self.dual_coef_.T, binaries[0].spec.scale)
        return whole.expansion(X) + self.intercept_


def scores_of(binary: BinaryModel, X: Array) -> Array:
    """Return f at these rows, or the scores of the block that scores rows itself."""
    for name, block, _ in live(binary.members):
        if not isinstance(block, Scores):
            continue
        with naming(name):
            state = binary.states.get(name)
            scores = block.predict(binary.f, X, *([] if state is None else [state]))
        if scores is None:
            continue
        scores = np.asarray(scores, float)
        if scores.shape != (X.shape[0],) or not np.isfinite(scores).all():
            raise InvalidInput(
                f"block '{name}': predict must return one finite score for each of the {X.shape[0]} rows, "
                f"got shape {scores.shape} with {np.count_nonzero(~np.isfinite(scores))} NaN or infinite."
            )
        return scores
    if not issparse(X) and np.isnan(X).any():
        raise InvalidInput(
            "X contains NaN, and no block of the prior scores such rows. Complete the rows before, or derive "
            "the block that completes training rows from Scores too."
        )
    return binary.f.value(X)
