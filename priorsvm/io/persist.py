r"""Models in files that contain data only and no code.

skops_ writes the file, a zip archive of arrays and of the names of their types. The member ``priorsvm.json``
has the version of the format and of priorsvm. The comment at the end of the archive is a checksum of all
bytes before it. Type names are compared with :data:`TRUSTED` before anything is
imported. No trusted type is called: an empty object is made, and its attributes are filled in.

.. _skops: https://skops.readthedocs.io
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from sklearn.base import BaseEstimator

import priorsvm

from .._utils.messages import warn
from ..encoding import is_frame
from ..errors import BadFile, InvalidInput, InvalidType, OtherVersion, SkopsNotInstalled
from ..knowledge.base import Knowledge
from ..prior import Prior
from .converted import convert
from .intact import Inconsistent, check_intact
from .renamed import upgrade
from .schema import find_defect
from .trusted import PLACES, TRUSTED, USER_PLACES, name_of

FORMAT = 4
"""Version of the format that :func:`save` writes. :func:`load` reads this and all earlier versions."""

_HEADER = "priorsvm.json"
_SCHEMA = "schema.json"
_SEAL = b"sha256:"


def save(
    model: Any, path: str | os.PathLike[str], trusted: Iterable[type | Callable[..., Any] | str] = ()
) -> None:
    """Write a model to a file that contains data only and no code.

    The loaded model returns the same values to the last bit. The compiled ``problem`` is not saved. It is
    built again on first use. If writing fails, an existing file stays as it is. A DataFrame given to a block
    as ``unlabeled=`` is written as an array.

    Parameters
    ----------
    model : PriorSVC, estimator, Prior, block, kernel or transform
        A fitted or unfitted model. An estimator of scikit-learn may contain a PriorSVC.
    path : str or path
        The file, usually with the suffix ``.skops``. An existing file is replaced.
    trusted : iterable of classes, functions or str, default=()
        Types in the model that neither priorsvm nor skops trusts, such as your own blocks and kernels. A
        full name is, for example, ``"mymodule.MyBlock"``. Pass the same types to :func:`load`.

    Raises
    ------
    InvalidType
        The model contains a value that cannot be saved, such as a Python function or an object of an
        unknown class. The message names the parameter.
    InvalidInput
        The path is not a file name, or its folder does not exist.

    See Also
    --------
    load : Read the file.

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
            "save requires a PriorSVC, an estimator of scikit-learn that contains one, a block, a kernel "
            f"or a transform; got {type(model).__name__}."
        )
    if not os.fspath(path) or Path(path).is_dir():
        raise InvalidInput(
            f"save: {os.fspath(path)!r} is not a file name. Name a file, such as 'model.skops'."
        )
    path = Path(path)
    if path.is_symlink():
        path = path.resolve()
    if not path.parent.is_dir():
        raise InvalidInput(f"save: the folder {str(path.parent)!r} does not exist. Create it first.")
    try:
        model = _with_arrays(model)
        buffer = io.BytesIO(_dumps(skops, model, names))
    except InvalidType as error:
        raise InvalidType(_explain_refusal(skops, model, names, str(error))) from error
    with ZipFile(buffer, "a", ZIP_STORED) as archive:
        archive.writestr(_HEADER, json.dumps({"format": FORMAT, "priorsvm": priorsvm.__version__}))
    _write(path, _sealed(buffer.getvalue()))


def load(path: str | os.PathLike[str], trusted: Iterable[type | Callable[..., Any] | str] = ()) -> Any:
    """Read a model that :func:`save` wrote; no code in the file is run.

    A file with other types is refused before anything is imported. A file with a changed byte is refused by
    its checksum, but for files of earlier versions, which have none. A checksum is not a signature: a program
    can write another valid file.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of classes, functions or str, default=()
        The types that were passed to :func:`save`. They are imported and filled with values from the file, so
        name only types that you trust.

    Returns
    -------
    estimator
        The saved model.

    Raises
    ------
    BadFile
        The file is damaged, is not a saved model, has a newer format, or contains types that are not trusted.
        It is also raised if the parts of the model do not fit together. The message names the reason.

    See Also
    --------
    save : Write the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import priorsvm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "model.skops").write_bytes(b"not a model")
    ...     priorsvm.load(Path(folder, "model.skops"))
    Traceback (most recent call last):
    priorsvm.errors.BadFile: ...model.skops is not a model saved by priorsvm.save: it is not a zip archive...
    """
    skops = _skops()
    names = _names(trusted)
    data = Path(path).read_bytes()
    try:
        version, data = _check(data, path, names)
        model = skops.loads(data, trusted=[*TRUSTED, *names])
        if version < 3:
            model = convert(model)
        check_intact(model)
    except Inconsistent as error:
        raise BadFile(f"{path} contains a model whose parts do not fit together: {error}.") from error
    except (BadFile, OtherVersion):
        raise
    except BadZipFile as error:
        raise BadFile(
            f"{path} is not a model saved by priorsvm.save: it is not a zip archive, or it is damaged "
            f"({_describe(error)}). If it is a pickle, load it with pickle or joblib, which run its code."
        ) from error
    except skops.exceptions.UntrustedTypesFoundException as error:
        raise BadFile(
            f"{path} was refused, and no code in it was run. {error} If the types are yours, name them: "
            "load(path, trusted=[...])."
        ) from error
    except Exception as error:  # a damaged file can cause any error
        raise BadFile(f"{path} is damaged: {_describe(error)}.") from error
    if not isinstance(model, (BaseEstimator, Prior)):
        raise BadFile(f"{path} contains a {type(model).__name__}, which is not a model.")
    return model


def _skops() -> ModuleType:
    try:
        import_module("skops.io.exceptions")
    except ImportError as error:
        raise SkopsNotInstalled(
            "save and load require the package skops. Install it: pip install skops."
        ) from error
    return import_module("skops.io")


def _is_top_level(item: Any) -> bool:
    return bool(item.__qualname__.isidentifier())


def _names(trusted: Iterable[type | Callable[..., Any] | str]) -> set[str]:
    """Return the full names of the types that the user trusts."""
    if isinstance(trusted, (str, type, FunctionType)):
        trusted = [trusted]
    if not isinstance(trusted, Iterable):
        raise InvalidType(
            "trusted must be a list of classes, functions, or full names such as 'mymodule.MyBlock'; "
            f"got {trusted!r}."
        )
    names = set()
    for item in trusted:
        if not isinstance(item, (str, type, FunctionType)):
            raise InvalidType(
                "trusted must contain classes, functions, or full names such as 'mymodule.MyBlock'; "
                f"got {item!r}."
            )
        if not (isinstance(item, str) or _is_top_level(item)):
            raise InvalidInput(
                f"trusted: {name_of(item)} cannot be found again by its name. "
                "Define it at the top level of a module."
            )
        names.add(item if isinstance(item, str) else name_of(item))
    return names


def _check(data: bytes, path: Any, names: set[str]) -> tuple[int, bytes]:
    """Return a file's format, and its data with today's names; raise BadFile if ``save`` did not write it."""
    with ZipFile(io.BytesIO(data)) as archive:
        if archive.comment and _sealed(data[: -len(archive.comment)]) != data:
            raise BadFile(f"{path} is damaged: its checksum is not that of its content. Get the file again.")
        version = _check_header(archive, path)
        if version > 3 and not archive.comment:
            raise BadFile(f"{path} is damaged: its checksum is missing. Get the file again.")
        schema = json.loads(archive.read(_SCHEMA))
        if version == 1:
            upgrade(schema)
            data = _with_schema(archive, schema)
    defect = find_defect(schema, _all_places(names))
    if defect:
        raise BadFile(f"{path} was not written by priorsvm.save: {defect}.")
    return version, data


def _all_places(names: set[str]) -> dict[str, set[str]]:
    return {**dict.fromkeys(names, USER_PLACES), **PLACES}


def _with_schema(archive: ZipFile, schema: Any) -> bytes:
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as copy:
        for name in set(archive.namelist()) - {_SCHEMA}:
            copy.writestr(name, archive.read(name))
        copy.writestr(_SCHEMA, json.dumps(schema))
    return buffer.getvalue()


def _check_header(archive: ZipFile, path: Any) -> int:
    """Return the version of the format; raise BadFile if it cannot be read."""
    members = archive.namelist()
    if _HEADER not in members or _SCHEMA not in members:
        raise BadFile(f"{path} is not a model saved by priorsvm.save: it is another kind of zip archive.")
    if any(member.compress_type != ZIP_STORED for member in archive.infolist()):
        # Without compression, no part can be larger in memory than the file.
        raise BadFile(f"{path} was not written by priorsvm.save: it has compressed parts.")
    header = json.loads(archive.read(_HEADER))
    version = header["format"]
    writer = header["priorsvm"]
    if type(version) is not int or version < 1:
        raise BadFile(f"{path} is damaged: the format {version!r} does not exist.")
    if version > FORMAT:
        raise BadFile(
            f"{path} was saved by priorsvm {writer} in format {version}, and priorsvm {priorsvm.__version__} "
            f"reads formats up to {FORMAT}. Upgrade priorsvm."
        )
    if writer != priorsvm.__version__:
        warn(
            f"{path} was saved by priorsvm {writer}, and this is priorsvm {priorsvm.__version__}. "
            "Compare the predictions of the loaded model with known ones, or fit it again.",
            OtherVersion,
        )
    return version


def _with_arrays(model: Any) -> Any:
    """Return a model with arrays for DataFrames of unlabelled rows: the model itself, or a copy."""
    if not _blocks_with_frames(model):
        return model
    model = copy.deepcopy(model)
    for block in _blocks_with_frames(model):
        block.unlabeled = block.unlabeled.to_numpy()
    return model


def _blocks_with_frames(model: Any) -> list[Any]:
    """Return the blocks of a model, and those it was fitted with, whose unlabelled rows are a DataFrame."""
    parts = [model, *model.get_params().values()]
    for part in list(parts):
        for binary in getattr(part, "_models", []):
            parts += [member.block for member in getattr(binary, "members", [])]
    blocks = {id(part): part for part in parts if isinstance(part, Knowledge)}
    return [block for block in blocks.values() if is_frame(getattr(block, "unlabeled", None))]


def _dumps(skops: Any, value: Any, names: set[str]) -> bytes:
    """Return the data of a value; raise InvalidType if :func:`load` would refuse it."""
    try:
        data: bytes = skops.dumps(value)
        unknown = set(skops.get_untrusted_types(data=data)) - names - set(TRUSTED)
        with ZipFile(io.BytesIO(data)) as archive:
            defect = find_defect(json.loads(archive.read(_SCHEMA)), _all_places(names))
    except Exception as error:  # an object of an unknown class can raise any error
        raise InvalidType(_describe(error)) from error
    if unknown:
        raise InvalidType(f"it contains {', '.join(sorted(unknown))}")
    if defect:
        raise InvalidType(defect)
    return data


def _refusal(skops: Any, value: Any, names: set[str]) -> str | None:
    """Return why a value cannot be saved, or None."""
    try:
        _dumps(skops, value, names)
    except InvalidType as error:
        return str(error)
    return None


def _explain_refusal(skops: Any, model: Any, names: set[str], refusal: str) -> str:
    """Return a message that names the innermost parameter that cannot be saved."""

    def size(parameter: tuple[str, Any]) -> tuple[int, bool]:
        key, value = parameter
        return -key.count("__"), isinstance(value, (list, tuple, dict))

    for key, value in sorted(_parameters(model), key=size):
        reason = _refusal(skops, value, names)
        kind = type(value)
        if reason is None:
            continue
        if isinstance(value, (FunctionType, MethodType)):
            return (
                f"{key} is a Python function ({name_of(value)}), and the file contains data only, no code. "
                f"{_suggest_name(value)} Or use pickle or joblib if the reader trusts the file."
            )
        if isinstance(value, BaseEstimator) and name_of(kind) not in {*names, *TRUSTED}:
            return (
                f"{key} is of the class {name_of(kind)}, which priorsvm does not trust. If it is yours, use "
                f"save(..., trusted=[{kind.__name__}]), and the same in load."
            )
        if hasattr(value, "to_numpy"):
            return f"{key} is a {kind.__name__}, which cannot be saved. Convert it with .to_numpy()."
        return f"{key} cannot be saved: it is a {kind.__name__}; {reason}."
    kind_of_model = type(model).__name__
    return f"this {kind_of_model} cannot be saved: {refusal}. If the type is yours, name it: trusted=[...]."


def _suggest_name(function: Any) -> str:
    if _is_top_level(function):
        return f"Name it: save(..., trusted=['{name_of(function)}']), and the same in load, which imports it."
    return "Define it at the top level of a module and name it: save(..., trusted=['module.function'])."


def _parameters(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of a model, then the parameters of the blocks it was fitted with."""
    yield from model.get_params().items()
    for binary in getattr(model, "_models", [])[:1]:
        for name, block, _ in binary.members:
            yield from ((f"{name}__{key}", value) for key, value in block.get_params().items())


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(".")


def _sealed(data: bytes) -> bytes:
    """Return an archive with the checksum of all its bytes as its comment.

    Parameters
    ----------
    data : bytes
        An archive without a comment. Its last two bytes are the length of the comment.
    """
    size = len(_SEAL) + 2 * hashlib.sha256().digest_size
    body = data[:-2] + size.to_bytes(2, "little")
    return body + _SEAL + hashlib.sha256(body).hexdigest().encode()


def _write(path: Path, data: bytes) -> None:
    """Write a file completely, or leave the folder as it is."""
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with open(part, "xb") as file:
            if path.exists():
                os.chmod(part, path.stat().st_mode)  # keep the permissions of the file that is replaced
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
