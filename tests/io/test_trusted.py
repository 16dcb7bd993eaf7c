"""Laws of the trusted types."""

import pkgutil
from dataclasses import is_dataclass
from importlib import import_module

import pytest

import priorsvm
from priorsvm import (
    Kernel,
    Knowledge,
    Prior,
    PriorSVC,
    Transform,
)
from priorsvm.io.persist import TRUSTED

skops = pytest.importorskip("skops.io")


def classes_of_priorsvm():
    for found in pkgutil.walk_packages(priorsvm.__path__, "priorsvm."):
        if found.name != "priorsvm.__main__":
            for value in vars(import_module(found.name)).values():
                if isinstance(value, type) and value.__module__ == found.name:
                    yield value


def test_every_block_kernel_transform_and_part_of_a_model_is_trusted():
    homes = "estimator function kernels knowledge prior problem sample solve spec transforms"
    held = [
        kind
        for kind in classes_of_priorsvm()
        if issubclass(kind, (Knowledge, Kernel, Transform, Prior, PriorSVC))
        or (
            kind.__module__.split(".")[1] in homes.split()
            and (is_dataclass(kind) or hasattr(kind, "_fields"))
        )
    ]
    assert len(held) > 90
    assert sorted({f"{kind.__module__}.{kind.__name__}" for kind in held} - set(TRUSTED)) == []


def test_trusted_names_are_classes_that_are_found_under_them():
    for name in TRUSTED:
        if name.startswith("priorsvm."):
            module, _, kind = name.rpartition(".")
            assert isinstance(getattr(import_module(module), kind), type)
    assert not any("Exception" in name or "Error" in name for name in TRUSTED)


def test_no_trusted_type_runs_code_when_an_empty_object_is_made_and_filled():
    known = {
        "BinaryModel.__setstate__",
        "ClassCosts.__setstate__",
        "InvariantLoss.__setstate__",
        "Sample.__getattr__",  # raises AttributeError and does nothing else
    }
    for kind in classes_of_priorsvm():
        if f"{kind.__module__}.{kind.__name__}" not in TRUSTED:
            continue
        for special in (
            "__new__",
            "__setstate__",
            "__del__",
            "__getattr__",
            "__getattribute__",
            "__reduce__",
        ):
            if special in vars(kind) and not (special == "__new__" and hasattr(kind, "_fields")):
                assert f"{kind.__name__}.{special}" in known
