"""Where and how a file is written."""

import os
import stat
import subprocess
import sys

import pytest

import priorsvm
from priorsvm import (
    PriorSVC,
    load,
    save,
)
from priorsvm.errors import InvalidInput, PriorSVMError, SkopsNotInstalled

skops = pytest.importorskip("skops.io")


def test_a_file_is_written_completely_or_not_at_all(saved, monkeypatch):
    before = saved.read_bytes()

    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="the disk is full"):
        save(PriorSVC(), saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_path_is_a_str_or_a_path_and_a_file_is_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(PriorSVC(C=2.0), "model.skops")
    save(PriorSVC(C=3.0), "model.skops")
    assert load(tmp_path / "model.skops").C == 3.0
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE((tmp_path / "model.skops").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    with pytest.raises(InvalidInput, match="the folder 'nowhere' does not exist"):
        save(PriorSVC(), "nowhere/model.skops")


def test_without_skops_the_command_is_named(monkeypatch, file):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.setitem(sys.modules, "skops.io.exceptions", None)
    for call in (lambda: save(PriorSVC(), file), lambda: load(file)):
        with pytest.raises(SkopsNotInstalled, match="pip install skops") as caught:
            call()
        assert isinstance(caught.value, (ImportError, PriorSVMError))


def test_saving_again_keeps_the_permissions(tmp_path):
    path, model = tmp_path / "m.skops", PriorSVC()
    priorsvm.save(model, path)
    path.chmod(0o600)
    priorsvm.save(model, path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_saving_to_a_link_writes_where_it_points(tmp_path):
    target, link = tmp_path / "m.skops", tmp_path / "link.skops"
    link.symlink_to(target)
    priorsvm.save(PriorSVC(C=3.0), link)
    assert link.is_symlink()
    assert priorsvm.load(target).C == 3.0


@pytest.mark.parametrize("name", ["", "."])
def test_a_folder_is_not_a_file_name(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="is not a file name"):
        priorsvm.save(PriorSVC(), name)
    assert not list(tmp_path.iterdir())


OF_OTHER_EXTRAS = ("anywidget", "dask", "distributed", "matplotlib", "onnx", "pandas", "pyarrow", "traitlets")


def test_a_model_is_saved_without_the_packages_of_other_extras(file):
    code = f"""
import sys
sys.modules.update(dict.fromkeys({OF_OTHER_EXTRAS!r}))
import priorsvm
priorsvm.save(priorsvm.PriorSVC(C=2.0), {str(file)!r})
assert priorsvm.load({str(file)!r}).C == 2.0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
