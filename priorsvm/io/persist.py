r"""Models in files that can be read without running anything in them.

A file is what skops_ writes: a zip archive of numbers (``.npy``) and of the names of the types they
belong to, and beside them ``priorsvm.json`` with the version of the format and of priorsvm. Types are only
names until they have been compared with :data:`TRUSTED`, and none of those is ever called: an object is made
empty and gets its attributes back.

.. _skops: https://skops.readthedocs.io
"""

from __future__ import annotations

import io
import json
import os
import pkgutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import sklearn.metrics
import sklearn.model_selection
import sklearn.utils
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

import priorsvm

from .._utils.messages import warn
from ..errors import BadFile, InvalidInput, InvalidType, OtherVersion, SkopsNotInstalled
from ..prior import Prior
from .intact import Broken, check_intact

FORMAT = 1
"""Version of the format that :func:`save` writes. :func:`load` reads this one and all before it."""

# Of skops; before it, files had names of functions elsewhere than where they are looked for here.
_PROTOCOL = 2

_HEADER = "priorsvm.json"
_SCHEMA = "schema.json"

# Modules that no part of a model comes from.
_APART = {
    "__main__",
    "cli",
    "datasets",
    "demo",
    "errors",
    "explain",
    "io",
    "plot",
    "testing",
}

# JSON has words as keys, and skops turns them back by calling the key's type: bool("False") is True.
_KEYS = {"builtins.str", "builtins.int", "builtins.float"}


def _full_name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _own_types() -> Iterator[str]:
    for found in pkgutil.walk_packages(priorsvm.__path__, "priorsvm."):
        if found.name.split(".")[1] not in _APART:
            for value in vars(import_module(found.name)).values():
                if (
                    isinstance(value, type)
                    and value.__module__ == found.name
                    and not issubclass(value, Exception)
                ):
                    yield _full_name(value)


def _places() -> dict[str, set[str]]:
    """What is trusted beyond what skops trusts, and the nodes of a file in which it may stand.

    In other nodes skops would call a class, or hand it over as if it were a function.
    """
    metrics = (getattr(sklearn.metrics, name) for name in sklearn.metrics.__all__)
    searching = vars(sklearn.model_selection).values()
    splitters = (kind for kind in searching if isinstance(kind, type) and hasattr(kind, "split"))
    calibrated = ("_CalibratedClassifier", "_SigmoidCalibration", "_TemperatureScaling")
    return {
        **{name: {"ObjectNode", "TupleNode"} for name in _own_types()},
        **{_full_name(kind): {"ObjectNode"} for kind in splitters},
        **{f"sklearn.calibration.{name}": {"ObjectNode"} for name in calibrated},
        **{f"sklearn.metrics._scorer.{name}": {"ObjectNode"} for name in ("_PassthroughScorer", "_Scorer")},
        **{_full_name(metric): {"FunctionNode"} for metric in metrics if isinstance(metric, FunctionType)},
        _full_name(sklearn.utils.Bunch): {"DictNode"},
        _full_name(csr_array): {"SparseMatrixNode"},
        "numpy.dtype": {"DTypeNode"},
    }


_PLACES = _places()
_USERS_PLACES = {"ObjectNode", "TupleNode", "FunctionNode", "TreeNode"}

TRUSTED: tuple[str, ...] = tuple(sorted(_PLACES))
"""The types that :func:`load` trusts beyond those skops trusts, as ``skops.io.load(trusted=...)`` takes them.

All classes of priorsvm that a model can hold; and of scikit-learn, what is inside grid searches, votes and
calibrated classifiers: splitters, scorers and the metrics they call.
"""


def save(
    model: Any, path: str | os.PathLike[str], trusted: Iterable[type | Callable[..., Any] | str] = ()
) -> None:
    """Write a model to a file that :func:`load` reads without running anything in it.

    Everything a fitted model answers with is kept, to the last bit; the compiled ``problem`` is not, and is
    built again when it is asked for. The file appears whole or not at all.

    Parameters
    ----------
    model : PriorSVC, fitted or not, or an estimator of scikit-learn that holds one
        Also a block, a sum of blocks, a kernel or a transform.
    path : str or path
        The file, by custom with the ending ``.skops``. An existing one is replaced.
    trusted : classes, functions, or full names such as ``"mymodule.MyBlock"``
        What the model holds that is neither priorsvm's nor known to skops: blocks and kernels of your own,
        and by name also functions of a module. ``load`` has to be told the same, and imports them.

    Raises
    ------
    InvalidType
        The model holds something that cannot be saved, which the message names: a Python function as g, as
        transform or kernel, an object of an unknown class.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import priorsvm
    >>> from priorsvm import ClassCosts, PriorSVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["well", "well", "ill", "ill"]
    >>> model = PriorSVC(ClassCosts({"ill": 5})).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     priorsvm.save(model, Path(folder, "model.skops"))
    ...     priorsvm.load(Path(folder, "model.skops")).predict([[1.8]])
    array(['ill'], dtype='<U4')
    """
    skops = _skops()
    names = _names(trusted)
    if not isinstance(model, (BaseEstimator, Prior)):
        raise InvalidType(
            f"save takes a PriorSVC, an estimator of scikit-learn that holds one, a block, a kernel or a "
            f"transform; got {type(model).__name__}."
        )
    if not os.fspath(path) or Path(path).is_dir():
        raise InvalidInput(
            f"save: {os.fspath(path)!r} is no file to write to: name one, such as 'model.skops'."
        )
    path = Path(path)
    path = path.resolve() if path.is_symlink() else path  # what a link points to
    if not path.parent.is_dir():
        raise InvalidInput(f"save: there is no folder {str(path.parent)!r} to write {path.name!r} to.")
    try:
        buffer = io.BytesIO(_dumps(skops, model, names))
    except InvalidType as error:
        raise InvalidType(_blamed(skops, model, names, str(error))) from error
    with ZipFile(buffer, "a", ZIP_STORED) as archive:
        archive.writestr(_HEADER, json.dumps({"format": FORMAT, "priorsvm": priorsvm.__version__}))
    _write(path, buffer.getbuffer())


def load(path: str | os.PathLike[str], trusted: Iterable[type | Callable[..., Any] | str] = ()) -> Any:
    """Read what :func:`save` wrote; whatever else a file holds is refused before anything of it is imported.

    A file that was changed on its way cannot make this function run code, but it can hold other numbers:
    that a model is the one you saved, a signature or a checksum must tell.

    Parameters
    ----------
    path : str or path
    trusted : classes, functions, or full names such as ``"mymodule.MyBlock"``
        The same as in :func:`save`. These are imported and filled with what the file says: name only what
        you know.

    Returns
    -------
    estimator
        It answers as the one that was saved.

    Raises
    ------
    BadFile
        The file is damaged, of another kind, of a newer format, holds types that are not trusted, or a model
        whose parts do not fit together: arrays of another shape or kind, an f that is not finite, machines of
        other classes. The message says which.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import priorsvm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "model.skops").write_bytes(b"not a model")
    ...     priorsvm.load(Path(folder, "model.skops"))
    Traceback (most recent call last):
    priorsvm.errors.BadFile: ...model.skops is not a model saved by priorsvm.save: it is no zip archive...
    """
    skops = _skops()
    names = _names(trusted)
    data = Path(path).read_bytes()
    try:
        _inspect(data, path, names)
        model = skops.loads(data, trusted=[*TRUSTED, *names])
        check_intact(model)
    except Broken as error:
        raise BadFile(f"{path} holds a model whose parts do not fit together: {error}.") from error
    except (BadFile, OtherVersion):
        raise
    except BadZipFile as error:
        raise BadFile(
            f"{path} is not a model saved by priorsvm.save: it is no zip archive, or a damaged one "
            f"({_told(error)}). If it is a pickle, load it with pickle or joblib, which run whatever it says."
        ) from error
    except skops.exceptions.UntrustedTypesFoundException as error:
        raise BadFile(
            f"{path} was refused, and nothing in it was run. {error} If they are yours, name them: "
            "load(path, trusted=[...])."
        ) from error
    except Exception as error:  # a file can be wrong in any way
        raise BadFile(f"{path} is damaged: {_told(error)}.") from error
    if not isinstance(model, (BaseEstimator, Prior)):
        raise BadFile(f"{path} holds a {type(model).__name__}, which is no model.")
    return model


def _skops() -> ModuleType:
    try:
        import_module("skops.io.exceptions")
    except ImportError as error:
        raise SkopsNotInstalled(
            "save and load need the package skops: pip install skops (or priorsvm with its extra [skops])."
        ) from error
    return import_module("skops.io")


def _has_a_place(item: Any) -> bool:
    """Whether a class or function stands at the top of its module: not inside another, and no lambda."""
    return bool(item.__qualname__.isidentifier())


def _names(trusted: Iterable[type | Callable[..., Any] | str]) -> set[str]:
    """Full names of what the user trusts."""
    if isinstance(trusted, (str, type, FunctionType)):
        trusted = [trusted]
    if not isinstance(trusted, Iterable):
        raise InvalidType(
            f"trusted takes a list of classes, or of full names such as 'mymodule.MyBlock'; got {trusted!r}."
        )
    names = set()
    for item in trusted:
        if not isinstance(item, (str, type, FunctionType)):
            raise InvalidType(
                f"trusted takes classes, functions, or full names such as 'mymodule.MyBlock'; got {item!r}."
            )
        if not (isinstance(item, str) or _has_a_place(item)):
            raise InvalidInput(
                f"trusted: {_full_name(item)} has no name of its own in a module, by which it could be found "
                "again. Define it at the top of a module."
            )
        names.add(item if isinstance(item, str) else _full_name(item))
    return names


def _inspect(data: bytes, path: Any, names: set[str]) -> None:
    """Refuse what :func:`save` would not have written, before skops reads it."""
    with ZipFile(io.BytesIO(data)) as archive:
        _check_header(archive, path)
        complaint = _complaint(json.loads(archive.read(_SCHEMA)), names)
    if complaint:
        raise BadFile(f"{path} was not written by priorsvm.save: {complaint}.")


def _check_header(archive: ZipFile, path: Any) -> None:
    members = archive.namelist()
    if _HEADER not in members or _SCHEMA not in members:
        raise BadFile(f"{path} is not a model saved by priorsvm.save: it is another kind of zip archive.")
    if any(member.compress_type != ZIP_STORED for member in archive.infolist()):
        # Nothing is compressed, so that nothing can unfold to more than the file's own size.
        raise BadFile(f"{path} was not written by priorsvm.save: it has compressed parts.")
    header = json.loads(archive.read(_HEADER))
    version = header["format"]
    writer = header["priorsvm"]
    if type(version) is not int or version < 1:
        raise BadFile(f"{path} is damaged: there is no format {version!r}.")
    if version > FORMAT:
        raise BadFile(
            f"{path} was saved by priorsvm {writer} in format {version}; this is priorsvm "
            f"{priorsvm.__version__}, which reads formats up to {FORMAT}. Upgrade priorsvm."
        )
    if writer != priorsvm.__version__:
        warn(
            f"{path} was saved by priorsvm {writer}, and this is {priorsvm.__version__}: what is kept inside "
            "a model may have changed. Compare its answers with known ones, or fit it again.",
            OtherVersion,
        )


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object that a schema describes."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _complaint(schema: Any, names: set[str]) -> str | None:
    """What is wrong with a schema beyond types that are not trusted, which skops looks after."""
    protocol = schema["protocol"]
    if protocol < _PROTOCOL:
        return f"it speaks the protocol {protocol} of old versions of skops"
    places = {**dict.fromkeys(names, _USERS_PLACES), **_PLACES}
    for node in _nodes(schema):
        name = f"{node['__module__']}.{node['__class__']}"
        loader = node["__loader__"]
        if loader not in places.get(name, {loader}):
            return f"it has {name} where that cannot stand ({loader})"
        if loader == "DictNode":
            kinds = [f"{kind['__module__']}.{kind['__class__']}" for kind in node["key_types"]["content"]]
            bad = next((kind for kind in kinds if kind not in _KEYS and not _is_numpy_key(kind)), None)
            if bad:
                return f"it has a dict whose keys are of the type {bad}, not words or numbers"
            if len(kinds) != len(node["content"]):
                return "it has a dict with two keys that look the same, such as 1 and '1'"
    return None


def _is_numpy_key(name: str) -> bool:
    module, _, kind = name.partition(".")
    return module == "numpy" and kind.startswith(("int", "uint", "float", "str_"))


def _dumps(skops: Any, value: Any, names: set[str]) -> bytes:
    """What skops makes of a value, if :func:`load` would read it."""
    try:
        data: bytes = skops.dumps(value)
        unknown = set(skops.get_untrusted_types(data=data)) - names - set(TRUSTED)
        with ZipFile(io.BytesIO(data)) as archive:
            complaint = _complaint(json.loads(archive.read(_SCHEMA)), names)
    except Exception as error:  # a foreign object can object in any way
        raise InvalidType(_told(error)) from error
    if unknown or complaint:
        raise InvalidType(f"it holds {', '.join(sorted(unknown))}" if unknown else complaint)
    return data


def _refusal(skops: Any, value: Any, names: set[str]) -> str | None:
    """Why a value cannot be saved, or None."""
    try:
        _dumps(skops, value, names)
    except InvalidType as error:
        return str(error)
    return None


def _blamed(skops: Any, model: Any, names: set[str], refusal: str) -> str:
    """The smallest argument that cannot be saved, and the way out."""

    def size(argument: tuple[str, Any]) -> tuple[int, bool]:
        key, value = argument
        return -key.count("__"), isinstance(value, (list, tuple, dict))

    for key, value in sorted(_arguments(model), key=size):
        reason = _refusal(skops, value, names)
        kind = type(value)
        if reason is None:
            continue
        if isinstance(value, (FunctionType, MethodType)):
            return (
                f"{key} is a Python function ({_full_name(value)}), and the file holds data, not code. "
                f"{_way_out(value)} Or use pickle or joblib, if whoever loads it trusts the file."
            )
        if isinstance(value, BaseEstimator) and _full_name(kind) not in {*names, *TRUSTED}:
            return (
                f"{key} is of a class that priorsvm does not know, {_full_name(kind)}. If it is yours: "
                f"save(..., trusted=[{kind.__name__}]), and the same in load."
            )
        if hasattr(value, "to_numpy"):
            return f"{key} is a {kind.__name__}, which cannot be saved. Give it as an array, .to_numpy()."
        return f"{key} cannot be saved: it is a {kind.__name__}; {reason}."
    return (
        f"this {type(model).__name__} cannot be saved: {refusal}. If that is yours, name it: trusted=[...]."
    )


def _way_out(function: Any) -> str:
    """How a function can be saved after all: by its name."""
    if _has_a_place(function):
        return (
            f"Name it: save(..., trusted=['{_full_name(function)}']), and the same in load, which imports it."
        )
    return "Define it at the top of a module, where it can be named: save(..., trusted=['module.function'])."


def _arguments(model: Any) -> Iterator[tuple[str, Any]]:
    """What a model was given, and then what its fit was, by name."""
    yield from model.get_params().items()
    for machine in getattr(model, "_machines", [])[:1]:
        for name, block, _ in machine.members:
            yield from ((f"{name}__{key}", value) for key, value in block.get_params().items())


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(".")


def _write(path: Path, data: memoryview) -> None:
    """Write a file that appears whole or not at all."""
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with open(part, "xb") as file:
            if path.exists():
                os.chmod(part, path.stat().st_mode)  # who may read it stays who may read it
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
