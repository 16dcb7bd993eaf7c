"""PriorSVC: parameters, fit, predict, and what scikit-learn requires."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator, ClassifierMixin

from ._utils.arrays import Array
from ._utils.messages import readable
from .errors import InvalidInput
from .fitted import FittedModel, MissingAttribute
from .kernels.set_kernel import takes_sets
from .knowledge.base import Knowledge
from .knowledge.traits import Completes
from .large.detect import is_source, refuse_source
from .large.new_rows import accuracy, over_chunks
from .large.task import large_task
from .parameters import names_of_parameters
from .path import fit_path
from .prior import as_prior, snake_case
from .training import limited_task, train, unchanged_on_failure, workers
from .validation import is_precomputed, make_task, row_keys
from .weights import with_weights

if TYPE_CHECKING:
    from .assemblies import Assemblies
    from .assembly import Assembly


class PriorSVC(FittedModel, ClassifierMixin, BaseEstimator):
    r"""Support vector classifier with prior knowledge.

    .. math:: \min_f\; \underbrace{\tfrac12\|f\|^2 + C \sum_i \xi_i}_{J_{SVM}} + \sum_k w_k J_{PK,k}(f)
              \quad\text{s.t.}\quad y_i f(x_i) \ge 1 - \xi_i,\; \xi \ge 0,\; c_{PK,k}(f) \le 0 .

    Every block of the prior adds a penalty :math:`J_{PK,k}` with weight :math:`w_k`, constraints
    :math:`c_{PK,k}`, or changed rows. Without a prior the model is a standard support vector machine.

    Parameters
    ----------
    prior : Knowledge, Prior or None, default=None
        A block or a sum of blocks, for example ``ClassCosts("balanced") + 0.5 * VirtualSamples(shift)``.
    C : float, default=1.0
        Weight of the slacks. Infinity is the hard margin: every row of positive cost has its margin.
    kernel : str, Kernel or callable, default="linear"
        Name of a pairwise kernel of scikit-learn such as "linear", "rbf" or "poly", or a :class:`Kernel`. A
        function of two matrices returns the kernel matrix between their rows. With "precomputed" X is the
        kernel matrix, and blocks that require features are refused.
    norm : {"l2", "l1"}, default="l2"
        Regulariser: :math:`\frac12\|f\|^2`, or the 1-norm of the coefficients. The 2-norm requires a positive
        definite or conditionally positive definite kernel. With the 1-norm the problem is a linear programme,
        and any kernel is allowed.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        :math:`C \sum_i \xi_i` or :math:`C \sum_i \xi_i^2`.
    scale : {"standard", "minmax"} or None, default=None
        Scaling of the features inside f. Blocks keep the units of X.
    categories : {"auto"} or None, default="auto"
        Columns of a DataFrame with categories. "auto" encodes every column of dtype category or with texts:
        one 0/1 column for each value, inside f, so that blocks use the columns and values of X. ``scale``
        leaves these columns as they are. A missing value is a value of its own. A value that no training row
        has becomes zeros, with the warning :class:`~priorsvm.errors.UnknownCategory`. None refuses texts.
    n_centres : int or None, default=None
        Number of centres that f expands over, a Nyström approximation for large data. None, or a number of
        at least all rows and points: f is exact.
    multi_class : {"ovr", "ovo", "joint"}, default="ovr"
        For more than two classes: "ovr" fits one model against the rest for each class. "ovo" fits one model
        for each pair of classes on their rows, as ``sklearn.svm.SVC`` does; a block whose label is neither
        class is left out of the model. "joint" solves one problem with a decision function for each class.
        The joint model has no bias; it accepts one :class:`InvariantLoss` and blocks that add or reweight
        rows in one round.
    preselect : bool, default=False
        Fit on the support vectors of a first model only. The first model has no blocks, and the base of a
        kernel that transforms rows.
    solver : str or list of str, default="auto"
        Name of a solver, which is used without a fallback, or a list of names, tried in order. The command
        ``priorsvm solvers`` lists the names, and the problems that each solver solves. Names such as "LIBSVM"
        or "ROWS" are routes of this library, for one kind of problem each. Every solver that CVXPY has
        installed is a name, such as "MOSEK" or "gurobi", in upper or lower case.
    solver_options : dict or None, default=None
        Options passed to the solver. With a list of solvers, a dict from solver name to options.
    tol : float, default=1e-6
        Required relative residuals and duality gap. Solvers run at tighter tolerances.
    max_rounds : int, default=100
        Limit on the rounds of iterative blocks.
    max_seconds : float or None, default=None
        Limit on the time of a fit, by the clock: rounds, searches, solvers and the choice of ``mu="auto"``
        together. At the limit the fit ends with the best answer so far and scikit-learn's
        ``ConvergenceWarning``. Without an answer it raises :class:`~priorsvm.errors.OutOfTime`. The models of
        several classes share the time. Single steps such as a factorisation are not interrupted. None: no
        limit.
    n_jobs : int or None, default=None
        Number of workers for the models of the classes and for searches over transformations. Models that
        take less than a second together run one after the other. Other joblib backends, such as dask, are
        set with ``joblib.parallel_config``.
    memory_limit : float, str or None, default=None
        Memory for a fit whose rows are read in chunks, in bytes or as a text such as "2 GB". It limits the
        rows that are read at a time, the rows near the margin, and the chunks of each dask worker. None: half
        of the free memory, and the memory that the workers have.
    verbose : int, default=0
        1 shows progress bars at once; 0 shows them on a terminal after ten seconds. With rows in chunks, 1
        prints the plan of memory before the first pass.
    random_state : int, RandomState instance or None, default=None
        Seed of the random draws of blocks. None is deterministic, too.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels. With two classes, +1 is ``classes_[1]``.
    n_features_in_ : int
        Number of features; with a kernel between sets of vectors, the length of one vector; with
        ``kernel="precomputed"``, the number of training rows.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Exists if X is a DataFrame whose column names are strings.
    intercept_ : ndarray of shape (n_functions,)
        Bias of each decision function: one function for two classes, one per class for more classes or for
        ``multi_class="joint"``. For more classes and ``multi_class="ovo"``, one per pair (0, 1), (0, 2), ...,
        (1, 2), ... of ``classes_``, positive for the first class of the pair.
    coef_ : ndarray of shape (n_functions, n_encoded)
        Weights in the units of X; linear models only. The decision function is
        ``X @ coef_.T + intercept_``, with encoded columns if X has categories.
    encoded_names_ : ndarray of shape (n_encoded,)
        Names of the columns of ``coef_``: of X, and ``<column>=<value>`` for columns with categories.
    kernel_ : Kernel or None
        Kernel with all its parameters as numbers; None for a linear model. With the 2-norm, a conditionally
        positive definite kernel is centred at a training row.
    centres_ : ndarray of shape (n_centres, n_features)
        Points that f expands over; kernel models only. Without ``scale`` and slopes, the decision function is
        ``kernel_(X, centres_) @ dual_coef_.T + intercept_``. With ``kernel="precomputed"`` they are indices
        of training rows, shape (n_centres, 1).
    dual_coef_ : ndarray of shape (n_functions, n_centres)
        Coefficients of ``centres_``; kernel models only.
    slopes_ : tuple of three ndarrays
        Points, directions and coefficients of the derivatives that f expands over; kernel models only. They
        are empty unless a block evaluates slopes of f.
    support_ : ndarray of shape (n_support,)
        Indices of the training rows that are support vectors.
    solver_ : str or list of str
        Solver that solved the problem, in upper case. This and the following attributes are lists for more
        than two classes, with one entry for each class or pair, unless ``multi_class="joint"``.
    status_ : str or list of str
        Status of the solution: "optimal", "optimal_inaccurate" if its residuals are too large, or
        "time_limit" if ``max_seconds`` ended the fit.
    n_rounds_ : int or list of int
        Number of rounds of iterative blocks.
    objective_ : float or list of float
        Value of the objective, computed from f.
    history_ : list of dict, or list of lists of dict
        Objective, gap, rows, solver and seconds of each round.
    findings_ : dict or list of dict
        Findings of the blocks, by block name.
    problem : cvxpy.Problem or list of cvxpy.Problem
        Problem that was solved, or an equivalent problem if a route without CVXPY solved it.
    report_ : Report
        Contribution of every term to the objective, and how the problem was solved.

    See Also
    --------
    Prior : A sum of blocks with names and weights.
    Knowledge : Base class of all blocks.
    solvers : Table of the solvers.
    sklearn.svm.SVC : Support vector machine of scikit-learn, without prior knowledge.

    References
    ----------
    Lauer & Bloch 2008, with eq. (13) for ``norm="l1"``; K. Crammer and Y. Singer, "On the algorithmic
    implementation of multiclass kernel-based vector machines", JMLR 2001, for ``multi_class="joint"``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from priorsvm import ClassCosts, PriorSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PriorSVC(ClassCosts({0: 5}), kernel="rbf", scale="standard").fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True

    Columns with categories are encoded inside the model:

    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [40.0, 50.0, 60.0], "sex": ["f", "m", "f"]})
    >>> PriorSVC().fit(table, ["well", "well", "ill"]).encoded_names_
    array(['age', 'sex=f', 'sex=m'], dtype=object)
    """

    categories: Any = "auto"  # for models of earlier files
    memory_limit: Any = None
    max_seconds: float | None = None

    def __init__(
        self,
        prior: Any = None,
        *,
        C: float = 1.0,
        kernel: Any = "linear",
        norm: str = "l2",
        loss: str = "hinge",
        scale: str | None = None,
        categories: Any = "auto",
        n_centres: int | None = None,
        multi_class: str = "ovr",
        preselect: bool = False,
        solver: str | Sequence[str] = "auto",
        solver_options: dict[str, Any] | None = None,
        tol: float = 1e-6,
        max_rounds: int = 100,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        memory_limit: Any = None,
        verbose: int = 0,
        random_state: Any = None,
    ):
        self.prior = prior
        self.C = C
        self.kernel = kernel
        self.norm = norm
        self.loss = loss
        self.scale = scale
        self.categories = categories
        self.n_centres = n_centres
        self.multi_class = multi_class
        self.preselect = preselect
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_rounds = max_rounds
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the model.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of its kernel and of its blocks.

        Returns
        -------
        dict
            Values by name.

        Examples
        --------
        >>> from priorsvm import PriorSVC
        >>> PriorSVC(C=2.0).get_params()["C"]
        2.0
        """
        if deep:
            found: dict[str, Any] = super().get_params()
            return found
        kind: Any = type(self)
        return {name: getattr(self, name) for name in names_of_parameters(kind)}

    def set_params(self, **params: Any) -> PriorSVC:
        """Set parameters of the model, of its kernel and of its blocks.

        A parameter of a block is ``prior__<block>__<parameter>``, also if the prior is a single block.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        PriorSVC
            This model.

        Raises
        ------
        InvalidInput
            If a parameter does not exist.

        Examples
        --------
        >>> from priorsvm import OddnessHint, PriorSVC
        >>> PriorSVC(OddnessHint()).set_params(prior__oddness_hint__mu=3.0).prior["oddness_hint"]
        OddnessHint(mu=3.0)
        """
        block = self.prior
        if isinstance(block, Knowledge):
            prefix = f"prior__{snake_case(type(block).__name__)}"
            if any(key == prefix or key.startswith(f"{prefix}__") for key in params):
                self.prior = as_prior(block)
        of_kernel = [key for key in params if key.startswith("kernel__")]
        kernel = params.get("kernel", self.kernel)
        if of_kernel and not hasattr(kernel, "set_params"):
            raise InvalidInput(_without_parameters(kernel, of_kernel[0]))
        super().set_params(**params)
        return self

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **rows: Any) -> PriorSVC:
        """Fit the model, or one model for each class or pair of classes.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training rows. A DataFrame may have columns with categories. A linear model also accepts a sparse
            matrix. A kernel between sets of vectors
            requires a list of (m, d) arrays or an (n, m, d) array. ``kernel="precomputed"`` requires the
            (n, n) kernel matrix, and new rows are their (m, n) kernel values with the training rows.

            Rows of a linear model may be read in chunks, if they do not fit in memory: a memory map of NumPy
            with more than 8 million entries, a dask array or DataFrame, the path of a Parquet file or
            folder, a list of chunks (X, y) or (X, y, sample_weight), or a function that returns an iterator
            of such chunks. The page "More rows than memory" of the guide has examples.
        y : array-like of shape (n,), str or None
            Labels. For a dask DataFrame or a path, the name of the column of labels. None for chunks.
        sample_weight : array-like of shape (n,), str or None, default=None
            Factor on C for each row. In the loss, in ``scale`` and in ``gamma="scale"`` a row of weight 2
            counts as two equal rows. For rules and ``Monotone`` on rows, the pool of rows, the standard
            weight and the folds of ``mu="auto"`` count each row of positive weight once. For a dask
            DataFrame or a path, the name of a column. None for chunks.
        **rows : array-like of shape (n, ...)
            Row parameters of blocks, as ``<block>__<parameter>``.

        Returns
        -------
        PriorSVC
            This model, fitted.

        Raises
        ------
        InvalidInput, InvalidType, UnknownParameter, MissingCapability
            If an argument, a parameter or a block cannot be used. The message names it.
        Infeasible
            If no decision function satisfies all hard constraints. The message names the blocks in conflict.
        SolverFailed
            If no allowed solver returns an accurate solution.
        OutOfTime
            If there is no answer after ``max_seconds``.

        Warns
        -----
        ConvergenceWarning
            If the fit ends at ``max_seconds`` with the best answer so far.

        Examples
        --------
        >>> from priorsvm import PriorSVC, SampleCosts
        >>> X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
        >>> PriorSVC(SampleCosts()).fit(X, y, sample_costs__costs=[1, 5, 0]).predict([[2.0]])
        array([1])
        """
        arguments = (X, y, sample_weight, rows)
        with unchanged_on_failure(self) as trial:
            checked = large_task if is_source(X) else make_task
            task = with_weights(trial, limited_task(trial, arguments, checked), arguments)
            with workers(self.n_jobs):
                binaries = train(trial, task)
            trial._store(task, binaries)
        return self

    def assemble(self, X: Any, y: Any, sample_weight: Any = None, **rows: Any) -> Assembly | Assemblies:
        """Return the problem before it is solved; this model is not changed.

        Parameters
        ----------
        X, y, sample_weight, **rows
            As in :meth:`fit`.

        Returns
        -------
        Assembly or list of Assembly
            One problem for two classes. For more classes, a list with one problem for each class.

        Raises
        ------
        MissingCapability
            For ``multi_class="joint"`` and blocks with ``method="pegasos"``, which have no such problem.

        See Also
        --------
        Assembly : What can be done with the problem.

        Examples
        --------
        >>> from priorsvm import PriorSVC
        >>> assembly = PriorSVC().assemble([[0.0], [3.0]], [0, 1])
        >>> assembly.problem.is_dcp(), list(assembly.constraints)
        (True, ['svm.margin'])
        >>> assembly.solve().status
        'optimal'
        >>> assembly.classifier().predict([[2.0]])
        array([1])
        """
        from .assemblies import assemble

        refuse_source(X, "assemble")
        return assemble(self, X, y, sample_weight, rows)

    def fit_path(
        self, X: Any, y: Any, values: dict[str, Sequence[Any]], sample_weight: Any = None, **rows: Any
    ) -> list[PriorSVC]:
        """Fit one model for every combination of parameter values; this model is not changed.

        The problem is compiled once if only weights change: ``C``, outer weights, and parameters such as
        ``mu`` that weigh penalties. Other parameters require a new compilation, with a warning. Every model
        may take ``max_seconds``.

        Parameters
        ----------
        X, y, sample_weight, **rows
            As in :meth:`fit`.
        values : dict of str to list
            Values by parameter name: "C" or another parameter of PriorSVC, "kernel__<parameter>", or
            "<block>__<parameter>".

        Returns
        -------
        list of PriorSVC
            Fitted models, with the last key varying fastest.

        Raises
        ------
        InvalidInput
            If ``values`` is not a dict of nonempty lists.
        UnknownParameter
            If a key of ``values`` is not a parameter.

        Warns
        -----
        Recompiled
            If a value changes more than weights.

        Examples
        --------
        >>> from priorsvm import PriorSVC
        >>> models = PriorSVC().fit_path([[0.0], [1.0], [3.0]], [0, 0, 1], {"C": [0.1, 1, 10]})
        >>> [round(float(m.coef_[0, 0]), 2) for m in models]
        [0.2, 1.0, 1.0]
        """
        refuse_source(X, "fit_path")
        return fit_path(self, X, y, values, sample_weight, rows)

    def decision_function(self, X: Any) -> Array:
        """Return f at every row.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows, as in :meth:`fit`. A chunk may be (X, y) or (X,), and a function may return chunks X.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            One column for each class if there are more than two classes. For ``multi_class="ovo"`` the
            columns contain votes of the models, plus a number within 1/3 that orders equal votes. Rows of
            dask give a dask array, which is not computed yet.

        Raises
        ------
        NotFittedError
            If ``fit`` was not called.

        Examples
        --------
        >>> from priorsvm import PriorSVC
        >>> PriorSVC().fit([[0.0], [2.0]], [0, 1]).decision_function([[1.0], [2.5]]).round(6) + 0
        array([0. , 1.5])
        """
        if is_source(X):
            return over_chunks(self, X, "decision_function")
        return self._scores(self._checked_rows(X))

    def predict(self, X: Any) -> Array:
        """Return the class of every row.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows, as in :meth:`fit`. A chunk may be (X, y) or (X,), and a function may return chunks X.

        Returns
        -------
        ndarray of shape (n,)
            Labels. A dask array for rows of dask, which is not computed yet.

        Raises
        ------
        NotFittedError
            If ``fit`` was not called.

        Examples
        --------
        >>> from priorsvm import PriorSVC
        >>> PriorSVC().fit([[0.0], [2.0]], ["well", "ill"]).predict([[0.5], [2.5]])
        array(['well', 'ill'], dtype='<U4')
        """
        if is_source(X):
            return over_chunks(self, X, "predict")
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of the rows whose class is predicted.

        Parameters
        ----------
        X, y, sample_weight
            Rows, labels and weights, as in :meth:`fit`.

        Returns
        -------
        float
            The accuracy.

        Raises
        ------
        NotFittedError
            If ``fit`` was not called.

        Examples
        --------
        >>> from priorsvm import PriorSVC
        >>> PriorSVC().fit([[0.0], [2.0]], [0, 1]).score([[0.5], [2.5], [3.0]], [0, 1, 1])
        1.0
        """
        if is_source(X):
            return accuracy(self, X, y, sample_weight)
        return float(super().score(X, y, sample_weight))

    @property
    def predict_proba(self) -> Any:
        """Not available: f is a distance, not a probability. The error names an alternative."""
        raise MissingAttribute(
            "PriorSVC returns scores, not probabilities. Use CalibratedClassifierCV(model) of "
            "sklearn.calibration, which has predict_proba."
        )

    # ------------------------------------------------------------------ scikit-learn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            prior = as_prior(self.prior)
        except (TypeError, ValueError):  # fit raises the error
            return tags
        tags.input_tags.sparse = isinstance(self.kernel, str) and self.kernel == "linear"
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.three_d_array = takes_sets(self.kernel)
        tags.input_tags.two_d_array = not takes_sets(self.kernel)
        tags.input_tags.allow_nan = any(isinstance(member.block, Completes) for member in prior)
        return tags

    def get_metadata_routing(self) -> Any:
        """Return the metadata that ``fit`` requests: sample_weight, and always the blocks' row parameters.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
            Requests by method.

        Examples
        --------
        >>> from priorsvm import PriorSVC, SampleCosts
        >>> sorted(PriorSVC(SampleCosts()).get_metadata_routing().fit.requests)
        ['sample_costs__costs', 'sample_costs__margins', 'sample_weight']
        """
        routing = copy.deepcopy(super().get_metadata_routing())
        for key in row_keys(as_prior(self.prior)):
            routing.fit.add_request(param=key, alias=True)
        return routing


def _without_parameters(kernel: Any, key: str) -> str:
    """Return the message that a string or a function has no parameters, with the kernel object to use."""
    from .kernels.resolve import NAMED

    advice = "a Kernel that has it"
    if isinstance(kernel, str) and kernel in NAMED:
        named = NAMED[kernel]()
        if key.removeprefix("kernel__") in named.get_params():
            advice = f"kernel={named!r}"
    return f"kernel={readable(repr(kernel))} has no parameters, so {key!r} cannot be set. Use {advice}."
