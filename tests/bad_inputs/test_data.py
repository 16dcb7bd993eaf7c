"""Bad rows, labels and weights, in fit and in predict."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

from priorsvm import ClassCosts, PriorSVC, check_knowledge, select_kernel
from priorsvm.errors import InvalidInput, InvalidType, NotFitted
from tests.bad_inputs.cases import FRAME, WORDS, Case, X, Y, check, parametrize, spoiled

CASES = [
    Case("NaN in X", ValueError, ["X contains NaN", "MissingValues()", "impute"], X=spoiled(np.nan)),
    Case(
        "NaN in an array", ValueError, ["They are in column 0 (1 row)."], X=np.where(X[0, 0] == X, np.nan, X)
    ),
    Case(
        "NaN in columns of a table",
        ValueError,
        [
            "X contains NaN. Add",
            "They are in columns 'a' (30 rows), 'b' (30 rows), 'c' (30 rows) and 1 more.",
        ],
        X=pd.DataFrame(dict.fromkeys("abcd", np.full(30, np.nan))),
    ),
    Case(
        "complex numbers in a column of objects",
        InvalidInput,
        ["complex numbers in column 'b'", "two columns"],
        X=pd.DataFrame({"a": X[:, 0], "b": np.array([1j, *X[1:, 1]], dtype=object)}),
    ),
    Case("huge number in X", InvalidInput, ["X: 1e+200 is too large", "other units"], X=spoiled(1e200)),
    Case("complex X", InvalidInput, ["Complex data not supported", "X.real"], X=X + 1j),
    Case("masked X", InvalidInput, ["X is a masked array", "X.filled(np.nan)"], X=np.ma.array(X, mask=X > 1)),
    Case("masked y", InvalidInput, ["y is a masked array"], y=np.ma.array(Y, mask=Y > 0)),
    Case("infinity in X", ValueError, ["X contains infinity"], X=spoiled(np.inf)),
    Case("1-D X", ValueError, ["Expected 2D array", "reshape"], X=X[:, 0]),
    Case("3-D X", ValueError, ["dim 3"], X=X[None]),
    Case(
        "sparse X and a kernel",
        TypeError,
        ["sparse X", "linear model", "kernel='linear'", "toarray"],
        X=scipy.sparse.csr_matrix(X),
        parameters={"kernel": "rbf"},
    ),
    Case("words in X", ValueError, ["could not convert string to float", "abc"], X=np.full((30, 2), "abc")),
    Case("fewer labels than rows", ValueError, ["inconsistent", "30", "29"], y=Y[:-1]),
    Case("no labels", ValueError, ["requires y"], y=None),
    Case("NaN in y", InvalidInput, ["contains NaN", "row 1.", "unlabeled="], y=np.where(Y == 1, np.nan, 0.0)),
    Case("None in y", InvalidInput, ["1 label is missing", "row 2."], y=[0, 1, None, *Y.tolist()[3:]]),
    Case(
        "NA in y",
        InvalidInput,
        ["2 labels are missing", "row 1."],
        y=pd.Series(["a", None, pd.NA, *["b"] * 27], dtype="string"),
    ),
    Case("continuous y", ValueError, ["Unknown label type: continuous"], y=X[:, 0]),
    Case("two columns of y", ValueError, ["1d array", "(30, 2)"], y=np.column_stack([Y, Y])),
    Case(
        "one class",
        InvalidInput,
        ["one class only, 'ill'", "two classes are required"],
        y=np.full(30, "ill"),
    ),
    Case("one number as class", InvalidInput, ["one class only", "7", "two classes"], y=np.full(30, 7)),
    Case(
        "words and numbers as classes",
        ValueError,
        ["y", "both strings and numbers"],
        y=np.array(["ill", *Y[1:]], dtype=object),
    ),
    Case(
        "negative sample_weight",
        ValueError,
        ["Negative", "sample_weight"],
        fit={"sample_weight": -np.ones(30)},
    ),
    Case("short sample_weight", ValueError, ["sample_weight", "(30,)"], fit={"sample_weight": np.ones(3)}),
    Case(
        "NaN in sample_weight",
        ValueError,
        ["sample_weight", "NaN"],
        fit={"sample_weight": np.full(30, np.nan)},
    ),
    Case("sample_weight all zero", ValueError, ["weight", "non-zero"], fit={"sample_weight": np.zeros(30)}),
    Case(
        "one class left by sample_weight",
        InvalidInput,
        ["sample_weight", "class 0", "positive weight"],
        fit={"sample_weight": (Y == 1).astype(float)},
    ),
    Case(
        "a class left out by sample_weight",
        InvalidInput,
        ["sample_weight", "'well'"],
        y=WORDS,
        fit={"sample_weight": (WORDS != "well").astype(float)},
    ),
]


@parametrize(CASES)
def test_bad_data(case, request):
    check(case, request)


# -------------------------------------------------------------------------------- new rows


def test_new_rows_that_do_not_fit():
    model = PriorSVC(kernel="rbf").fit(FRAME, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(FRAME[["age", "dose"]])
    with pytest.raises(ValueError, match="NaN"):
        model.decision_function(pd.DataFrame(spoiled(np.nan), columns=["dose", "age"]))
    with pytest.raises(ValueError, match=r"1 features.*expecting 2"):
        PriorSVC().fit(X, Y).predict(X[:, :1])
    with pytest.raises(ValueError, match="Expected 2D"):
        PriorSVC().fit(X, Y).predict(X[0])


@pytest.mark.parametrize(
    "name",
    [
        "coef_",
        "centres_",
        "dual_coef_",
        "support_",
        "objective_",
        "history_",
        "problem",
        "report_",
        "solver_",
        "status_",
        "n_rounds_",
    ],
)
def test_an_unfitted_model_has_no_attributes(name):
    with pytest.raises(NotFitted, match=r"not fitted yet: call fit\(X, y\)"):
        getattr(PriorSVC(), name)
    assert not hasattr(PriorSVC(), name)


def test_an_unfitted_model_cannot_predict():
    for use in (lambda m: m.predict(X), lambda m: m.decision_function(X), lambda m: m.score(X, Y)):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use(PriorSVC())
    for use in (PriorSVC.formulation, PriorSVC.verify):
        with pytest.raises(NotFitted, match="not fitted yet"):
            use(PriorSVC())


def test_not_fitted_is_one_error_under_four_names():
    for use in (lambda m: m.coef_, lambda m: m.report_, PriorSVC.formulation, PriorSVC.verify):
        for kind in (NotFitted, NotFittedError, AttributeError, ValueError):
            with pytest.raises(kind, match="not fitted yet"):
                use(PriorSVC())


def test_attributes_of_the_other_kind_of_model():
    with pytest.raises(AttributeError, match=r"coef_ exists for linear models only: use kernel='linear'"):
        PriorSVC(kernel="rbf").fit(X, Y).coef_  # noqa: B018
    with pytest.raises(AttributeError, match=r"kernel models only: .*coef_"):
        PriorSVC().fit(X, Y).centres_  # noqa: B018


@pytest.mark.parametrize("wrong", [np.array(3.0), pd.Series([1, 2, 3]), pd.Series([True, False]), np.ones(3)])
def test_rows_that_are_not_a_table(wrong):
    with pytest.raises(ValueError, match=r"2D array|2-dimensional"):
        PriorSVC().fit(wrong, [0, 1, 0])


def test_sparse_labels():
    with pytest.raises(InvalidInput, match="y is sparse, but labels are dense"):
        PriorSVC().fit(np.eye(2), scipy.sparse.csr_array(np.eye(2)))


def test_values_of_a_path_without_dimension():
    with pytest.raises(InvalidInput, match=r"values\['C'\] must be a nonempty list"):
        PriorSVC().fit_path(np.eye(2), [0, 1], {"C": np.array(3.0)})


@pytest.mark.parametrize("wrong", [[0, 1], np.array([0, 1]), (), {1: 2}])
def test_the_class_of_a_kernel_choice_is_one_label(wrong):
    with pytest.raises(InvalidInput, match="positive must be one label"):
        select_kernel("rbf", np.eye(4), [0, 1, 0, 1], wrong)


def test_arguments_of_the_laws():
    with pytest.raises(InvalidType, match="kernels must be a tuple of kernels or names, got"):
        check_knowledge(ClassCosts({1: 2.0}), kernels="rbf")
    with pytest.raises(InvalidInput, match=r"X must have one row for each sample, got the shape \(3,\)"):
        check_knowledge(ClassCosts({1: 2.0}), [1.0, 2.0, 3.0], [0, 1, 0])


def test_columns_of_equal_names():
    table = pd.DataFrame(X, columns=["a", "a", *"bcdefgh"[: X.shape[1] - 2]])
    with pytest.raises(InvalidInput, match=r"several columns of X have the name 'a'\. Rename"):
        PriorSVC().fit(table, Y)


def test_a_matrix_of_numpy_is_refused_by_name():
    with pytest.raises(TypeError, match=r"np\.matrix is not supported"):
        PriorSVC().fit(np.matrix(X), Y)
