"""
Rule: a rule in the words of your columns
=========================================

You can say: glucose of 118 or more together with a bmi of 28 or more means ill. Use
:class:`~priorsvm.Rule` for rules on a table. Soft rules apply to rows, hard rules hold everywhere in
their region.

Guide: :doc:`/guide/rule`.

.. alt: Two panels over glucose and bmi. With the hard rule, the hatched region at the upper right is
   wholly on the side of ill.
"""

import numpy as np
import pandas as pd

from priorsvm import PriorSVC, Rule, plot

rng = np.random.default_rng(3)
X = pd.DataFrame({"glucose": rng.normal(108, 13, 60), "bmi": rng.normal(26, 3, 60)})
y = np.where(X["glucose"] - 108 + rng.normal(0, 4, 60) > 12, "ill", "healthy")
rule = Rule("glucose >= 118 and bmi >= 28", label="ill", hard=True)

plain = PriorSVC(scale="standard", kernel="rbf").fit(X, y)
model = PriorSVC(rule, scale="standard", kernel="rbf").fit(X, y)
plot.compare({"plain": plain, "with a hard rule": model})
