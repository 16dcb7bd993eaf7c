"""The speed table runs."""

from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_row_of_import_times_is_measured(monkeypatch, capsys):
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")  # what the package sets is put back afterwards
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    benchmarks = pytest.importorskip("benchmarks")
    if not hasattr(benchmarks, "main"):
        pytest.skip("benchmarks has no main")
    [row] = benchmarks.main(["import", "--quick"])
    assert row["name"] == "import"
    assert 0 < row["low"] <= row["ratio"] <= row["high"] < 1
    assert row["met"] == (row["ratio"] <= row["target"])
    assert "import priorsvm" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        benchmarks.main(["nonsense"])
    assert "no such row: nonsense" in capsys.readouterr().err
