"""What rows in chunks cannot have is refused by name, before the first pass."""

import numpy as np
import pytest

from priorsvm import (
    RBF,
    Box,
    Ellipsoid,
    InvarianceHint,
    Knowledge,
    MissingValues,
    Monotone,
    MonotonicityHint,
    OddnessHint,
    PriorSVC,
    Rule,
    SampleCosts,
    Shift,
    TangentPenalty,
    UncertainSamples,
    VirtualSamples,
)
from priorsvm.errors import InvalidInput, InvalidType, MissingCapability, TooLarge
from priorsvm.large import memory, task
from priorsvm.solve.methods import chunks as method
from priorsvm.solve.routes import chunks

pd = pytest.importorskip("pandas")


def read():
    raise AssertionError("no pass before the checks")


def rows(n=3000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


PARAMETERS = [
    ({"kernel": "rbf"}, "kernel='rbf' needs all rows in memory. Use kernel='linear'.*n_centres.*Nystroem"),
    ({"kernel": RBF(), "n_centres": 50}, r"kernel=RBF\(\) needs all rows in memory"),
    ({"norm": "l1"}, "norm='l1' is not available there. Use norm='l2'"),
    ({"loss": "squared_hinge"}, "The squared hinge needs second moments of all rows. Use loss='hinge'"),
    ({"preselect": True}, "preselect=True is not available there. Use preselect=False"),
    ({"multi_class": "joint"}, "multi_class='joint' needs all rows in memory. Use multi_class='ovr'"),
    ({"C": float("inf")}, "C is infinite. Use a finite C"),
    ({"solver": "CLARABEL"}, "solver='CLARABEL' needs all rows in memory. Use solver='auto'"),
    ({"solver": ["SCHUR", "NORMAL"]}, r"solver=\['SCHUR', 'NORMAL'\] needs all rows"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS)
def test_parameters(parameters, message):
    with pytest.raises(MissingCapability, match=f"X is a function that returns chunks, .*{message}"):
        PriorSVC(**parameters).fit(read)


COLUMNS = [
    (Rule("dose > 1", 1), "there is no column 'dose'"),
    (Rule("a > 90%", 1, within={"dose": (0, 1)}), "there is no column 'dose'"),
    (Rule("a > 1", 1, columns=["a"]), "columns must be 2 names"),
    (Box({"dose": (0, 1)}, 1), "there is no column 'dose'"),
    (Box({7: (0, 1)}, 1), "there is no column 7"),
    (Monotone({"dose": 1}), "there is no column 'dose'"),
    (MonotonicityHint({"dose": 1}), "there is no column 'dose'"),
    (Ellipsoid([0.0], np.eye(2), 1), r"centre has shape \(1,\)"),
]


@pytest.mark.parametrize(("block", "message"), COLUMNS)
def test_columns_are_checked_before_the_first_pass(block, message):
    calls = []

    def read():  # its first chunk has the names of the columns
        calls.append(0)
        yield pd.DataFrame(np.zeros((3, 2)), columns=["a", "b"]), np.arange(3) % 2

    with pytest.raises(ValueError, match=f"block '.*': {message}"):
        PriorSVC(block).fit(read)
    assert len(calls) == 1


def test_missing_values_are_imputed_in_each_chunk():
    with pytest.raises(MissingCapability, match=r"Leave the block out and impute in each chunk, or fit a"):
        PriorSVC(MissingValues()).fit(lambda: iter([(np.zeros((2, 1)), [0, 1])]))


BLOCKS = [
    (UncertainSamples(0.1), "block 'uncertain_samples' has terms for each row"),
    (MissingValues(), "block 'missing_values' has terms for each row"),
    (OddnessHint(), "block 'oddness_hint' uses all rows at once"),
    (InvarianceHint(Shift(1)), "block 'invariance_hint' uses all rows at once"),
    (TangentPenalty(Shift(1)), "block 'tangent_penalty' uses all rows at once"),
    (VirtualSamples(Shift(1)), "block 'virtual_samples' uses all rows at once"),
]


@pytest.mark.parametrize(("block", "message"), BLOCKS)
def test_blocks(block, message):
    with pytest.raises(MissingCapability, match=f"{message}, and X is a function that returns chunks"):
        PriorSVC(block).fit(read)


def test_blocks_of_weight_zero_are_not_refused():
    X, y = rows()
    assert PriorSVC(0.0 * OddnessHint()).fit([(X, y)]).solver_ == "CHUNKS"


def test_row_parameters_are_functions():
    with pytest.raises(InvalidInput, match=r"costs is an array of all rows.*Give a function of"):
        PriorSVC(SampleCosts()).fit(read, sample_costs__costs=np.ones(3))


class Above(Knowledge):
    """A block of a user."""

    accepts = frozenset({"dense", "chunks"})

    def __init__(self, mu=1.0):
        self.mu = mu

    def build(self, f, view):
        import cvxpy as cp

        from priorsvm import Terms

        return Terms({"mu": cp.sum_squares(f([[1.0, 0.0, 0.0, 0.0]]) - 3.0)})


def test_a_block_of_a_user_that_accepts_chunks():
    X, y = rows()
    found = PriorSVC(Above(100.0)).fit([(X, y)])
    known = PriorSVC(Above(100.0), solver="CLARABEL").fit(X, y)
    assert found.objective_ == pytest.approx(known.objective_, rel=1e-7)


def test_methods_that_need_all_rows():
    X, y = rows()
    given = [(X, y)]
    with pytest.raises(InvalidType, match=r"fit_path requires an array .*, and X is a list of chunks"):
        PriorSVC().fit_path(given, None, {"C": [1.0]})
    with pytest.raises(InvalidType, match=r"assemble requires an array"):
        PriorSVC().assemble(given, None)
    model = PriorSVC().fit(given)
    for name in ("explain", "verify"):
        with pytest.raises(InvalidType, match=f"{name} requires an array .*, and X is a list of chunks"):
            getattr(model, name)(given)
    with pytest.raises(
        AttributeError, match=r"support_ exists for training rows in memory only.*report_ has"
    ):
        model.support_  # noqa: B018
    with pytest.raises(AttributeError, match=r"problem exists for training rows in memory only"):
        model.problem  # noqa: B018


@pytest.mark.parametrize("limit", [0, -1.0, "2 apples", "0 GB", True, float("nan")])
def test_memory_limits_are_sizes(limit):
    with pytest.raises(
        InvalidInput, match=r"memory_limit must be None, a positive number of bytes or a text"
    ):
        PriorSVC(memory_limit=limit).fit(*rows(20))


def test_sizes():
    assert memory.limit_of("500 MB") == memory.limit_of(5e8) == memory.limit_of("0.5GB")
    assert memory.limit_of(None) == pytest.approx(memory.SHARE * memory.free_memory(), rel=0.2)
    assert memory.in_words(2.5e6) == "2.5 MB"
    assert memory.in_words(12) == "12 B"


def test_the_free_memory_is_known_without_psutil(monkeypatch):
    known = memory.free_memory()
    monkeypatch.setitem(__import__("sys").modules, "psutil", None)
    assert memory.free_memory() == pytest.approx(known, rel=0.2)
    monkeypatch.setattr(memory.Path, "read_text", lambda *_, **__: "")
    assert memory.free_memory() == memory.UNKNOWN / memory.SHARE


def test_a_limit_that_is_too_small_is_named_before_the_work():
    X, y = rows(300)
    with pytest.raises(
        TooLarge, match=r"memory_limit is 10 KB, but a fit of 4 columns needs at least .*Raise"
    ):
        PriorSVC(memory_limit="10 KB").fit([(X, y)])


def test_the_plan_of_memory_is_printed_before_the_work(capsys):
    X, y = rows(300)
    PriorSVC(memory_limit="20 MB", verbose=1).fit([(X, y)])
    said = capsys.readouterr().err
    assert "priorsvm reads 300 rows with 4 columns in chunks, and takes at most 20 MB of memory" in said
    assert said.index("priorsvm reads") < said.index("pass 0") < said.index("pass 1")


def test_a_band_beyond_the_limit_is_discarded(monkeypatch):
    monkeypatch.setattr(task, "DRAWN", 300)
    monkeypatch.setattr(memory, "FEWEST", 10)
    monkeypatch.setattr(chunks, "LEAST", 150)
    monkeypatch.setattr(chunks, "FOR_FEATURE", 10)
    X, y = rows(20_000)
    known = PriorSVC(solver="NORMAL").fit(X, y)
    limits = []
    divide = method.divide

    def recorded(*arguments, **keywords):
        band = divide(*arguments, **keywords)
        if "most" in keywords:
            limits.append((keywords["most"], band))
        return band

    monkeypatch.setattr(method, "divide", recorded)
    monkeypatch.setattr(method, "WHOLE", 20)  # the first bands are too large
    of_row = 8 * (4 + memory.OF_ROW) * memory.OF_PROBLEM
    model = PriorSVC(memory_limit=of_row * 1500 / memory.FOR_PROBLEM).fit([(X, y)])
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-9)
    assert any(band is None for _, band in limits)
    assert all(len(band.near) <= most for most, band in limits if band is not None)


def test_rows_near_their_margins_that_never_fit(monkeypatch):
    monkeypatch.setattr(task, "DRAWN", 100)
    monkeypatch.setattr(memory, "FEWEST", 10)
    monkeypatch.setattr(chunks, "LEAST", 50)
    monkeypatch.setattr(chunks, "FOR_FEATURE", 10)
    X = (np.random.default_rng(0).random((5000, 4)) < 0.5).astype(float)  # many equal rows on the margin
    y = (X[:, 0] > 0.5).astype(int)
    of_row = 8 * (4 + memory.OF_ROW) * memory.OF_PROBLEM
    with pytest.raises(
        TooLarge, match=r"do not fit in memory_limit, .*Raise memory_limit, or use a smaller C"
    ):
        PriorSVC(memory_limit=of_row * 150 / memory.FOR_PROBLEM).fit([(X, y)])


def test_conflicts_of_hard_blocks_are_named():
    X, y = rows()
    both = Box({0: (0, 1)}, 1, hard=True) + Box({0: (0.5, 2)}, 0, hard=True)
    with pytest.raises(RuntimeError, match=r"box"):
        PriorSVC(both).fit([(X, y)])
