"""Saved models with changed bytes, with and without new checksums of the zip archive."""

from __future__ import annotations

import io
import tempfile
import warnings
from pathlib import Path
from zipfile import ZipFile

import numpy as np

from priorsvm import Box, PriorSVC, load, save
from priorsvm.errors import BadFile

from .hostile_tally import Tally

CHANGES, QUICK = 400, 20


def files(tally: Tally, quick: bool) -> None:
    """Load changed files; a loaded model counts as wrong, because its file is not the one that was saved."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    model = PriorSVC(Box({0: (1, 2)}, 1, mu=1.0), kernel="rbf").fit(X, np.arange(20) % 2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.skops")
        save(model, path)
        content = path.read_bytes()
        for k in range(QUICK if quick else CHANGES):
            what = f"change {k}"
            path.write_bytes(_byte_changed(content, rng) if k % 2 else _mended(content, rng))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    load(path)
                tally.count("wrong", what)
            except BadFile:
                tally.count("refused")
            except Exception as error:
                tally.count("raw", f"{what}: {error!r}"[:300])


def _byte_changed(content: bytes, rng: np.random.Generator) -> bytes:
    place = int(rng.integers(len(content)))
    return content[:place] + bytes([content[place] ^ int(rng.integers(1, 256))]) + content[place + 1 :]


def _mended(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the archive with a changed byte in one part, and the checksums of the archive made again."""
    with ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
        comment = archive.comment
    name = sorted(parts)[int(rng.integers(len(parts)))]
    parts[name] = _byte_changed(parts[name], rng)
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        for part, data in parts.items():
            archive.writestr(part, data)
        archive.comment = comment
    return buffer.getvalue()
