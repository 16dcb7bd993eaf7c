"""Names of classes and attributes in files of format 1."""

import io
import json
import zipfile
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from priorsvm import PriorSVC, load
from priorsvm.errors import BadFile
from priorsvm.io import converted, renamed
from priorsvm.io.persist import FORMAT, TRUSTED, _sealed
from priorsvm.io.renamed import current_name
from priorsvm.knowledge.regions.base import RegionKnowledge

pytest.importorskip("skops")

LINES = (Path(__file__).parent / "saved" / "types.txt").read_text().splitlines()
OLD_ATTRIBUTES = {line.split()[0]: line.split()[1:] for line in LINES}
OLD_NAMES = list(OLD_ATTRIBUTES)
NEW = np.random.default_rng(0).normal(size=(20, 2))


def rewritten(data, change, version=1):
    """Return a file with the header of another format and a changed schema."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts["priorsvm.json"])
    schema = json.loads(parts["schema.json"])
    change(schema)
    parts["priorsvm.json"] = json.dumps({**header, "format": version}).encode()
    parts["schema.json"] = json.dumps(schema).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    data = buffer.getvalue()
    return data if version < 4 else _sealed(data)


def rename_prior(name):
    """Return a change of a schema: the prior gets another type."""

    def change(schema):
        node = schema["content"]["content"]["prior"]
        node["__module__"], _, node["__class__"] = name.rpartition(".")

    return change


@pytest.mark.parametrize("name", OLD_NAMES)
def test_every_class_of_format_1_has_a_trusted_class_of_today(name):
    assert current_name(name) in TRUSTED, f"{name} moved: add its new name to priorsvm/io/renamed.py"


@pytest.mark.parametrize("name", OLD_NAMES)
def test_every_attribute_without_a_default_is_in_a_file_of_format_1(name):
    module, _, kind = current_name(name).rpartition(".")
    kind = getattr(import_module(module), kind)
    required = []
    if is_dataclass(kind):
        required = [f.name for f in fields(kind) if f.default is MISSING]
    elif issubclass(kind, BaseEstimator):
        # An attribute of the class is the default of a parameter that older files do not contain.
        required = [name for name in kind._get_param_names() if not hasattr(kind, name)]
    names = renamed.ATTRIBUTES.get(name, {})
    known = {names.get(attribute, attribute) for attribute in OLD_ATTRIBUTES[name]}
    if issubclass(kind, RegionKnowledge):
        known |= set(converted.ADDED)
    assert set(required) <= known, f"an attribute of {name} changed: see priorsvm/io/renamed.py"


def test_no_two_classes_of_format_1_become_one():
    assert len({current_name(name) for name in OLD_NAMES}) == len(OLD_NAMES)


def test_the_tables_have_no_entry_without_use():
    modules = {name.rpartition(".")[0] for name in OLD_NAMES if name not in renamed.CLASSES}
    assert set(renamed.MODULES) <= modules
    assert set(renamed.CLASSES) <= set(OLD_NAMES)
    assert set(renamed.ATTRIBUTES) <= set(OLD_NAMES)


def test_attributes_are_renamed(content, file, monkeypatch):
    """Write an attribute under another name, and rename it while the file is loaded."""
    monkeypatch.setitem(renamed.ATTRIBUTES, "priorsvm.estimator.PriorSVC", {"cost_of_errors": "C"})

    def change(schema):
        attributes = schema["content"]
        names = {"C": "cost_of_errors"}
        attributes["content"] = {names.get(key, key): v for key, v in attributes["content"].items()}

    file.write_bytes(content)
    expected = load(file)
    file.write_bytes(rewritten(content, change))
    loaded = load(file)
    assert loaded.get_params()["C"] == expected.get_params()["C"]
    assert np.array_equal(loaded.decision_function(NEW), expected.decision_function(NEW))


@pytest.mark.parametrize("name", ["os.system", "priorsvm.cli.main", "priorsvm.errors.BadFile", "sets.BoxSet"])
def test_an_old_format_is_not_trusted_more(name, content, file):
    file.write_bytes(rewritten(content, rename_prior(name)))
    with pytest.raises(BadFile, match=name):
        load(file)


def test_an_old_name_is_refused_in_a_file_of_today(content, file):
    change = rename_prior("priorsvm.knowledge.rule.Rule")
    file.write_bytes(rewritten(content, change))
    assert isinstance(load(file), PriorSVC)
    file.write_bytes(rewritten(content, change, FORMAT))
    with pytest.raises(BadFile, match=r"priorsvm\.knowledge\.rule\.Rule"):
        load(file)
