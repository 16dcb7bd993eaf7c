"""Presets belong to the lessons, and the front end is part of the package."""

import re
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

from priorsvm.playground.presets import all_presets

ROOT = Path(__file__).parents[2]
RESOURCES = ("play.js", "page.html")


def test_every_lesson_has_a_preset_with_its_title():
    titles = {}
    for path in sorted((ROOT / "notebooks").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        titles[int(path.stem[:2])] = re.search(r"^# # (.+)$", text, flags=re.MULTILINE)[1]
    assert {preset["lesson"]: preset["title"] for preset in all_presets()} == titles


def test_the_front_end_loads_nothing_from_elsewhere():
    for name in RESOURCES:
        text = files("priorsvm.playground").joinpath(name).read_text(encoding="utf-8")
        addresses = set(re.findall(r"https?://[^\"'`\s]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}
        assert not re.search(
            r"\b(import\s*\(|innerHTML|outerHTML|eval\(|localStorage|document\.cookie)", text
        )
    assert len(files("priorsvm.playground").joinpath("play.js").read_bytes()) < 60_000


@pytest.mark.slow
def test_the_wheel_has_the_front_end(tmp_path):
    pytest.importorskip("hatchling")
    run = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(run, cwd=ROOT, check=True, capture_output=True, timeout=120)
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"priorsvm/playground/{name}" for name in RESOURCES} <= set(names)
