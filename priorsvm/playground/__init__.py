"""Playground: points, rules and a model in the plane, changed by mouse and keyboard.

``priorsvm.play()`` shows it in a notebook and the command ``priorsvm play`` in a browser, with the same front
end ``play.js``. One JSON document, the state, travels to Python. ``answer(state)`` fits the model and returns
all that is drawn.
"""
