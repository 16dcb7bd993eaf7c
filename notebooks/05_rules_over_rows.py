# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Do three textbook rules help a model of few patients?
#
# You have a table of a few dozen patients, with words and gaps, and three rules from a textbook. A rule of
# thumb has exceptions, so it should be a preference and not a law. This lesson writes the rules, measures
# whether they help, and shows how a wrong rule is noticed.
#
# **You learn**
#
# - to write a rule in the words of a table;
# - what a soft rule on rows adds to the problem, and how much influence it can have;
# - to measure whether rules help, in paired comparisons;
# - to read the warning about a rule that contradicts the rows.
#
# **You need** lessons 1 and 2.
#
# **Time** 25 minutes
#
# **Theorem** A soft rule on rows is a set of labelled rows with total cost $C \mu$, so its prices add up to
# at most $C \mu$.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from priorsvm import PriorSVC, Rule, plot
from priorsvm.errors import AgainstData, FarFromData, PriorSVMWarning, UnknownCategory

# In a small sample each weight may be recorded. A new patient without a weight then has an unknown value.
warnings.simplefilter("ignore", UnknownCategory)
source, progress = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
course = pd.Series(np.where(progress > progress.median(), "fast", "slow"), name="course")

# %% [markdown]
# ## The table
#
# Scikit-learn has a table of 442 patients with diabetes, with a number for the progress of the disease
# after one year. We call the course *fast* if that number is above its median.
#
# The table is rewritten as a form that is filled in by hand: the body mass index as a word, not recorded
# for one patient in ten, and triglycerides in mg/dl. Words need no preparation, because `PriorSVC` encodes
# them.

# %%
new_names = {"bp": "pressure", "s1": "cholesterol", "s2": "ldl", "s3": "hdl"} | {
    "s5": "triglycerides",
    "s6": "glucose",
}
words = ["normal", "overweight", "obese"]
table = source.drop(columns=["bmi", "s4"]).rename(columns=new_names)
table["sex"] = source["sex"].map({1.0: "A", 2.0: "B"})
table["triglycerides"] = np.exp(source["s5"]).round()
table.insert(2, "weight", pd.cut(source["bmi"], [0, 25, 30, 100], right=False, labels=words))
table["weight"] = table["weight"].mask(np.random.default_rng(0).random(len(table)) < 0.1)

# %% tags=["hide-input"]
# alt: Three panels: the share of a fast course rises from normal to obese, and histograms of triglycerides
# and hdl of both courses overlap, with the limits 150 and 60.
figure, panels = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
shares = table.assign(fast=course == "fast").groupby("weight", observed=True)["fast"].mean()
panels[0].bar(shares.index.astype(str), 100 * shares, color=["0.6", "0.6", "#0072B2"])
panels[0].set(ylabel="fast course, %", title="weight")
for axes, column, limit in ((panels[1], "triglycerides", 150), (panels[2], "hdl", 60)):
    groups = [table.loc[course == name, column] for name in ("slow", "fast")]
    axes.hist(groups, bins=16, color=["#D55E00", "#0072B2"], label=["slow", "fast"])
    axes.axvline(limit, color="black", linestyle="--")
    axes.set(xlabel="mg/dl", title=f"{column}, limit {limit}")
panels[2].legend()
plt.show()

# %% [markdown]
# ## Three rules
#
# These are usual limits of cardiovascular risk in guidelines. They were fixed before any model was fitted.
# A rule is a text about the columns. By default it is *soft* and applies to **rows as they occur**.

# %%
rules = (
    Rule("weight == 'obese'", label="fast").named("obese")
    + Rule("triglycerides >= 150", label="fast").named("fat")
    + Rule("hdl >= 60", label="slow").named("hdl")
)
clinic, others = train_test_split(table.index, train_size=40, stratify=course, random_state=0)
X, y = table.loc[clinic], course[clinic]
model = PriorSVC(rules, scale="standard").fit(X, y)
display(model.report_)

# %% [markdown]
# Below the table of the report each rule has its evidence: the training rows inside, and how many of them
# have the other class. The picture is a slice: all other columns are at their median or their most frequent
# value.

# %%
# alt: A slice of the model over triglycerides and hdl, with the hatched regions of two rules. Half-filled
# marks are rows moved into the rules, plus and crosses the worst points.
plot.decision(model, features=("triglycerides", "hdl"))
plt.show()

# %% [markdown]
# ## The theorem
#
# The rows nearest to the region of a rule are copied. A copy inside stays as it is. Another copy gets
# values inside in the columns that the rule names, and its other columns follow their correlations. For $M$
# copies $x_p$ and the sign $s$ of the class of the rule, the problem contains
#
# $$J_{PK} = \frac{C \mu}{M} \sum_{p=1}^{M} \zeta_p, \qquad s f(x_p) \ge 1 - \zeta_p, \quad \zeta_p \ge 0 .$$
#
# **Claim.** This is the loss of $M$ rows with the label $s$ and the cost $C \mu / M$ each. Their prices add
# up to at most $C \mu$: a rule has at most the influence of $\mu$ rows, whatever it states.
#
# **Proof.** The constraint of a copy is that of a row with label $s$, and the factor of its slack is
# $C \mu / M$. By the theorem of lesson 2 each price is at most $C \mu / M$, and there are $M$ of them. ∎
#
# Verified, for given weights: all copies are rows of one margin constraint, and the prices respect the limit.

# %%
mu = {"obese": 1.0, "fat": 2.0, "hdl": 4.0}
weighted = clone(rules).set_params(**{f"{name}__mu": value for name, value in mu.items()})
fixed = PriorSVC(weighted, scale="standard").fit(X, y)
added = {name: fixed.report_[name][0].rows for name in mu}
price = {name: fixed.report_[name][0].price for name in mu}
margin = fixed.problem.constraints[0]
print(f"{len(margin.dual_value)} rows of margins = {len(X)} patients and copies {added}")
for name, value in mu.items():
    print(f"{name:6s} price {price[name]:.3f}, limit {value:.0f}")

# %% [markdown]
# With `mu="auto"`, the default, cross-validation inside `fit` chooses one factor for the weights of all
# rules. The factor 0, which means no rules, is one of the candidates.
#
# ## Does it help?
#
# One split proves nothing. So draw ten clinics of each size, and compare both models on all other patients.
# The measure is the area under the ROC curve (AUC), in points. The comparison is paired: the difference
# within a draw counts.

# %%
DRAWS, SIZES = 10, (20, 80)


def auc(model, rows):
    """Return the area under the ROC curve, in points."""
    score = model.decision_function(table.loc[rows])
    return 100 * roc_auc_score(course[rows] == model.classes_[1], score)


gains = {size: [] for size in SIZES}
for size in SIZES:
    for seed in range(1, DRAWS + 1):
        train, test = train_test_split(table.index, train_size=size, stratify=course, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PriorSVMWarning)  # of rules that a small draw contradicts
            fitted = [
                PriorSVC(p, scale="standard").fit(table.loc[train], course[train]) for p in (None, rules)
            ]
        gains[size].append(auc(fitted[1], test) - auc(fitted[0], test))
gains = pd.DataFrame(gains)
display(gains.agg(["mean", "sem", "min", "max"]).round(1))

# %% tags=["hide-input"]
# alt: Gain of AUC in single draws and in the mean. With 20 patients all gains are positive and the mean is
# large. With 80 patients the mean is smaller.
figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for place, size in enumerate(SIZES):
    values = np.sort(gains[size])
    axes.plot(place + np.linspace(-0.12, 0.12, DRAWS), values, "o", color="#0072B2", alpha=0.6)
    axes.errorbar(place + 0.25, values.mean(), gains[size].sem(), fmt="D", color="#D55E00", capsize=4)
axes.axhline(0, color="black", linewidth=0.8)
axes.set_xticks(range(len(SIZES)), [f"{size} patients" for size in SIZES])
axes.set(ylabel="gain of AUC, points", title="Draws (circles), means with standard errors")
plt.show()

# %% [markdown]
# With 20 patients the rules gain several points on average. With 80 patients they gain little, and some
# draws lose: the rows state by themselves what the rules state. The draws share patients, so the standard
# errors are a little too small. This is one table. The page *Does it help?* of the documentation has
# fourteen.
#
# ## A wrong rule
#
# `fit` compares every rule with the training rows. If rows of another class are more frequent inside the
# rule than chance explains, the warning is `AgainstData`.

# %%
reversed_rule = Rule("triglycerides >= 150", label="slow", mu=2.0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    against = PriorSVC(reversed_rule, scale="standard").fit(X, y)
messages = [str(warning.message) for warning in caught if warning.category is AgainstData]
print(messages[0])

# %% [markdown]
# With 20 patients most wrong rules are not noticed, because with few rows inside chance explains much.
# `mu="auto"` is a second protection.
#
# ## One patient
#
# `explain` has the score of a patient, its parts by column, and the rules that contain the patient.

# %%
# alt: The score of one patient as bars, from the mean of the training rows to the score. Pressure and obesity
# lower the score, triglycerides and hdl raise it.
patient = table.loc[others].query("weight == 'obese' and hdl >= 60").iloc[0]
explanation = model.explain(patient)
plot.explain(explanation)
plt.show()
print(explanation)

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: the wrong unit
#
# A textbook has the limit of triglycerides as 1.7 mmol/l. The table has mg/dl, and 1 mmol/l is 88.6 mg/dl.
# Write the text of the rule for this table.

# %% tags=["answer"]
text = ...  # your answer: the text of a rule

# %% [markdown] tags=["solution"]
# The limit is 1.7 · 88.6, about 150 mg/dl. With 1.7 every patient is inside, and the warning is
# `FarFromData`.

# %% tags=["solution"]
text = "triglycerides >= 150.6"

# %% tags=["check"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    PriorSVC(Rule(str(text), label="fast", mu=2.0), scale="standard").fit(X, y)
far = [str(warning.message) for warning in caught if warning.category is FarFromData]
assert not far, f"fit warns: {far[0]}"
inside = table.eval(str(text))
surely, perhaps = (table["triglycerides"] >= limit for limit in (151, 150))
assert inside[surely].all(), "The limit is lower than in this rule. Convert 1.7 mmol/l to mg/dl."
assert not inside[~perhaps].any(), "The limit is higher than in this rule. Convert 1.7 mmol/l to mg/dl."

# %% tags=["wrong"]
text = "triglycerides >= 1.7"

# %% [markdown] tags=["exercise"]
# ### Exercise 2: evidence by hand
#
# How many training rows are inside the rule `hdl >= 60`, and how many of them contradict it?

# %% tags=["answer"]
rows_inside, contrary = ..., ...  # your answer: two numbers

# %% tags=["solution"]
inside = X["hdl"] >= 60
rows_inside, contrary = int(inside.sum()), int((y[inside] != "slow").sum())
print(rows_inside, contrary)

# %% [markdown] tags=["solution"]
# Only the clinic counts: the labels of the other patients are not known to the model.

# %% tags=["check"]
found = model.findings_["hdl"]
assert rows_inside == found.rows, "Count the rows of the clinic, X, that satisfy the rule."
assert contrary == found.contrary, "Which class contradicts a rule with the label slow?"

# %% tags=["wrong"]
rows_inside, contrary = int((table["hdl"] >= 60).sum()), int((course[table["hdl"] >= 60] != "slow").sum())

# %% [markdown] tags=["exercise"]
# ### Exercise 3: the influence of a wrong rule
#
# `against` has the reversed rule with $\mu = 2$ and $C = 1$. What is the largest sum of prices that this
# rule can have? Does the number of copies matter?

# %% tags=["answer"]
limit = ...  # your answer: a number

# %% [markdown] tags=["solution"]
# $C \mu = 2$, for any number of copies. Each of the copies has the cost $2 / M$.

# %% tags=["solution"]
limit = 1.0 * 2.0
print(f"price of the rule {against.report_['rule'][0].price:.3f}, limit {limit}")

# %% tags=["check"]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", AgainstData)
    weak = PriorSVC(clone(reversed_rule).set_params(mu=0.01), scale="standard").fit(X, y)
share = weak.report_["rule"][0].price / 0.01  # a weak rule is violated at nearly all copies
assert limit >= against.report_["rule"][0].price - 1e-6, "The rule has a larger price."
assert limit < 2.3 * share, "No rule with this weight reaches such a price. How large is the cost of a copy?"

# %% tags=["wrong"]
limit = 2.0 * against.report_["rule"][0].rows

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# Copies are rows of the margin constraint, and the prices of a rule are limited by its weight.
assert len(margin.dual_value) == len(X) + sum(added.values())
assert all(price[name] <= mu[name] + 1e-6 for name in mu)
np.testing.assert_allclose(sum(row.contribution for row in fixed.report_.rows), fixed.objective_)

# With few patients the rules help, by more than two standard errors; with 80 hardly.
means, errors = gains.mean(), gains.sem()
assert means[20] > max(3, 2 * errors[20])
assert -0.5 < means[80] < means[20]
assert (gains[80] < 0).any()

# A reversed rule is noticed, and the parts of an explanation add up.
assert "of another class" in messages[0]
total = explanation.base + sum(part.part for part in explanation.parts)
np.testing.assert_allclose(total, explanation.score, atol=1e-9)
assert set(model.predict(X)) == {"fast", "slow"}

# %% [markdown]
# **Next** lesson 6: rules without exception, at every point of a region.
