"""Files saved by earlier versions load, and the loaded models return the recorded values.

Use public names only. ``make_saved.py`` writes the files. The names of classes in the files are the names of
the version that wrote the files, so these tests fail if a class moves without an alias for ``load``.
"""

import json
import lzma
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning

import priorsvm
from priorsvm import Prior, PriorSVC, errors
from priorsvm.prior import as_prior

pytest.importorskip("skops")

FOLDERS = sorted(Path(__file__).parent.glob("saved*/"))
RECORDED = {
    (folder.name, name): entry
    for folder in FOLDERS
    for name, entry in json.loads((folder / "values.json").read_text()).items()
}
FITTED = [key for key, entry in RECORDED.items() if "values" in entry]
TRAINED = [key for key, entry in RECORDED.items() if "training" in entry]
PRIORS = [key for key, entry in RECORDED.items() if "names" in entry]

# Cases whose problem is solved again. They cover regions, cuts, slopes and cones.
SOLVED_AGAIN = ["linear_rule", "rbf_rule_cuts", "rbf_tangent_penalty", "uncertain_samples", "trajectories"]

# Weights of the soft blocks in saved2; the other blocks have the default of their version, 1.
OLD_MU = {
    "rule_soft": 0.6,
    "box_soft": 2.0,
    "polyhedron_residuals": 0.6,
    "region_soft": 2.0,
    "monotone_soft": 0.5,
    "three_classes_soft": 3.0,
}

# A kernel with psd="clip" divides by small eigenvalues, which amplifies the rounding of other BLAS kernels.
TOLERANCE = {"tangent_distance_clip": 1e-9}


def tolerance(key):
    """Return the relative tolerance of a case."""
    return TOLERANCE.get(key[1], 1e-12)


def each(keys):
    """Run a test for each saved model."""
    return pytest.mark.parametrize("key", keys, ids="-".join)


@pytest.fixture
def loaded(key, tmp_path):
    """Return the saved model; fail on warnings other than warnings about versions."""
    folder, name = key
    packed = Path(__file__).parent / folder / f"{name}.skops.xz"
    path = tmp_path / f"{name}.skops"
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A later version of priorsvm or scikit-learn has to report the version of the file.
        warnings.simplefilter("ignore", errors.OtherVersion)
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        return priorsvm.load(path)


def last_step(model):
    """Return the PriorSVC of a model, which may be a pipeline."""
    return model if isinstance(model, PriorSVC) else model[-1]


def test_every_file_has_recorded_values():
    """Require one recorded entry per file, and one file per recorded entry."""
    found = {
        (path.parent.name, path.name.split(".")[0]) for folder in FOLDERS for path in folder.glob("*.xz")
    }
    assert found == set(RECORDED)


@each(FITTED)
def test_decision_function_is_unchanged(key, loaded):
    """Compare with the recorded values. This comparison does not involve a solver."""
    entry = RECORDED[key]
    rows = np.array(entry["rows"], dtype=float)
    values = loaded.decision_function(csr_array(rows) if entry["sparse"] else rows)
    expected = np.array(entry["values"])
    rel = tolerance(key)
    np.testing.assert_allclose(values, expected, rtol=rel, atol=rel * np.abs(expected).max())


@each(FITTED)
def test_facts_about_the_fit_are_unchanged(key, loaded):
    """Compare the stored objective and the stored name of the solver."""
    model = last_step(loaded)
    assert model.objective_ == pytest.approx(RECORDED[key]["objective"], rel=tolerance(key))
    assert model.solver_ == RECORDED[key]["solver"]


@each(FITTED)
def test_report_is_printed(key, loaded):
    """Require the line about the objective in the printed report."""
    assert "objective" in str(last_step(loaded).report_)


@each(FITTED)
def test_verify_has_the_same_verdicts(key, loaded):
    """Compare the verdict of each block with the recorded verdict."""
    verified = last_step(loaded).verify()
    assert {name: verified[name].holds for name in verified} == RECORDED[key]["verify"]
    assert str(verified)


@each([key for key in FITTED if key[1] in SOLVED_AGAIN])
def test_problem_is_built_again(key, loaded):
    """Solve the rebuilt problem and compare the optimum with the recorded objective."""
    loaded.problem.solve(solver="CLARABEL")
    assert loaded.problem.value == pytest.approx(RECORDED[key]["objective"], rel=1e-6)


@each(TRAINED)
def test_a_refit_of_a_copy_solves_the_same_problem(key, loaded):
    """Fit a clone to the recorded training rows; its weights are the weights of the file, in rows."""
    entry = RECORDED[key]
    again = clone(loaded).fit(np.array(entry["training"]["X"]), entry["training"]["y"])
    # Cuts of a soft direction end at violations of 1e-3, wherever the search starts.
    rel, of_values = (1e-5, 2e-3) if key[1] == "monotone_soft" else (1e-6, 1e-4)
    assert last_step(again).objective_ == pytest.approx(entry["objective"], rel=rel)
    values = again.decision_function(entry["rows"])
    np.testing.assert_allclose(values, entry["values"], atol=of_values * np.abs(entry["values"]).max())


@each(TRAINED)
def test_region_blocks_apply_everywhere_with_weights_in_rows(key, loaded):
    """Compare the parameters of the loaded block with the parameters in make_saved.py."""
    model = last_step(loaded)
    for block in (as_prior(model.prior).blocks[0][1], model._models[0].members[0].block):
        assert block.holds == "everywhere"
        assert block.unlabeled is None
        assert block.mu == OLD_MU.get(key[1], 1.0) / model.C
    if key[1] == "polyhedron_residuals":
        assert model.prior.mu_residual == 0.2 / 3.0


@each(TRAINED)
def test_a_converted_model_is_saved_again(key, loaded, tmp_path):
    """Save in today's format, which is not converted a second time."""
    priorsvm.save(loaded, tmp_path / "again.skops")
    again = priorsvm.load(tmp_path / "again.skops")
    assert str(again.get_params()) == str(loaded.get_params())
    assert last_step(again).objective_ == pytest.approx(last_step(loaded).objective_, rel=1e-14)


@each(PRIORS)
def test_a_sum_of_blocks_is_unchanged(key, loaded):
    """Compare the names of the blocks of a saved sum."""
    assert isinstance(loaded, Prior)
    assert loaded.names == RECORDED[key]["names"]
