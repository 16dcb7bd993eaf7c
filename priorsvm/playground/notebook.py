"""The widget of the playground. It requires the package anywidget; ``widget.py`` has the error without it."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from .answer import answer, fitted
from .presets import start
from .recipe import recipe


class Playground(anywidget.AnyWidget):
    """Playground in a notebook.

    Parameters
    ----------
    lesson : int, default=1
        Number of the lesson whose preset is shown first.

    Attributes
    ----------
    state : dict
        What is shown: points, shapes and settings.
    code : str
        Python code that fits the model.
    model : PriorSVC
        The fitted model.
    """

    _esm = files(__package__).joinpath("play.js").read_text(encoding="utf-8")
    start = traitlets.Dict().tag(sync=True)

    def __init__(self, lesson: int = 1) -> None:
        super().__init__(start=start(lesson))
        self.state: dict[str, Any] = next(p["state"] for p in self.start["presets"] if p["lesson"] == lesson)
        self.on_msg(self._received)

    def _received(self, widget: Any, message: Any, buffers: Any) -> None:
        """Answer a message of the front end, which has a number and a state."""
        found = answer(message.get("state"))
        if found["code"] is not None:
            self.state = {**message["state"], "draft": False}
        self.send({"number": message.get("number"), "answer": found})

    @property
    def code(self) -> str:
        return recipe(self.state).source()

    @property
    def model(self) -> Any:
        return fitted(recipe(self.state))[0]
