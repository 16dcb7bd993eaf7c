"""Picture of the playground: a screenshot of its page, taken by Chromium without a window.

Run it after a change of the front end: ``python docs/drawings/playground.py``.
"""

import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

from PIL import Image

from priorsvm.playground.server import PlaygroundServer

PATH = Path(__file__).parents[1] / "_static" / "playground.png"
LESSON = 6
SIZE = (1280, 1000)


def draw(path: Path, lesson: int = LESSON) -> None:
    """Write the screenshot of a lesson as PNG with few colours."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("The picture requires Chromium (package chromium).")
    with PlaygroundServer(lesson=lesson) as server, tempfile.TemporaryDirectory() as folder:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        shot = Path(folder) / "shot.png"
        subprocess.run(
            [
                chromium,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={folder}/profile",
                f"--window-size={SIZE[0]},{SIZE[1]}",
                "--virtual-time-budget=4000",
                f"--screenshot={shot}",
                server.url,
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )
        server.shutdown()
        Image.open(shot).convert("RGB").quantize(64).save(path, optimize=True)


if __name__ == "__main__":
    draw(PATH)
    print(f"{PATH.name}: {PATH.stat().st_size // 1000} kB")
