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
# You have a table of a few dozen patients, with words and gaps, and three rules from a textbook. This
# lesson goes from the table to a model that you can report:
#
# 1. write the rules in the words of the table;
# 2. measure whether they help, with 20, 40 and 80 patients;
# 3. see how a wrong rule is noticed;
# 4. explain the score of one patient;
# 5. write the methods paragraph.

# %%
import tempfile
import textwrap
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import priorsvm
from priorsvm import PriorSVC, Rule, plot
from priorsvm.errors import AgainstData, FarFromData, PriorSVMWarning, UnknownCategory

# In a small sample the weight of every patient may be recorded. New patients without a weight then have a
# value that the model has not seen.
warnings.simplefilter("ignore", UnknownCategory)

BLUE, RED, GREY = "#0072B2", "#D55E00", "0.4"

# %% [markdown]
# ## The table
#
# Scikit-learn has a table of 442 patients with diabetes. A number for the progress of the disease was
# recorded after one year. We call the course *fast* if that number is above its median.
#
# The table is rewritten as a form that is filled in by hand. The body mass index becomes the class of the
# World Health Organization, in words. For one patient in ten it is not recorded. The logarithm of the
# triglycerides becomes mg/dl. Sex is coded in the source without a legend, so its values are A and B here.
#
# Words need no preparation: `PriorSVC` encodes them, and a gap in a column of words is a value of its
# own. For gaps in numbers add the block `MissingValues()`, which is the subject of lesson 6.

# %%
source, progress = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
table = pd.DataFrame(
    {
        "age": source["age"],
        "sex": source["sex"].map({1.0: "A", 2.0: "B"}),
        "weight": pd.cut(
            source["bmi"], [0, 25, 30, 100], right=False, labels=["normal", "overweight", "obese"]
        ),
        "pressure": source["bp"],
        "cholesterol": source["s1"],
        "ldl": source["s2"],
        "hdl": source["s3"],
        "triglycerides": np.exp(source["s5"]).round(),
        "glucose": source["s6"],
    }
)
table["weight"] = table["weight"].mask(np.random.default_rng(0).random(len(table)) < 0.1)
course = pd.Series(np.where(progress > progress.median(), "fast", "slow"), name="course")

figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
shares = table.assign(fast=course == "fast").groupby("weight", observed=True)["fast"].mean()
panels[0].bar(shares.index.astype(str), 100 * shares, color=[GREY, GREY, BLUE])
panels[0].set(ylabel="fast course, %", title="weight")
for axes, column, limit in ((panels[1], "triglycerides", 150), (panels[2], "hdl", 60)):
    groups = [table.loc[course == name, column] for name in ("slow", "fast")]
    axes.hist(groups, bins=16, color=[RED, BLUE], label=["slow", "fast"])
    axes.axvline(limit, color="black", linestyle="--")
    axes.set(xlabel="mg/dl", title=f"{column}, limit {limit}")
panels[0].axhline(50, color="black", linestyle="--")
panels[2].legend()
plt.show()
display(table.assign(course=course).head(5))

# %% [markdown]
# ## Three rules
#
# Obesity, triglycerides of 150 mg/dl or more and an HDL cholesterol below 60 mg/dl are usual limits of
# cardiovascular risk in guidelines. So our rules are:
#
# * *obese patients have a fast course;*
# * *with triglycerides of 150 or more the course is fast;*
# * *with an HDL of 60 or more the course is slow.*
#
# The limits were fixed before any model was fitted. The pictures above show all 442 patients. A clinic with
# forty patients would not see them.
#
# A rule is a text about your columns. By default it is *soft* and applies to **rows as they occur**: rows
# like those of your table that satisfy the rule should have its class. The rows nearest to the region of
# the rule are copied. A copy inside the region stays as it is. Another copy gets values inside the region
# in the columns that the rule names, and its other columns follow their correlations. For $M$ copies
# $x_p$ the problem contains
#
# $$
# J_{PK} = \frac{C \mu}{M} \sum_{p=1}^{M} \zeta_p ,
# \qquad s f(x_p) \ge 1 - \zeta_p , \quad \zeta_p \ge 0 .
# $$
#
# So the rule weighs as much as $\mu$ training rows. With `mu="auto"`, the default, cross-validation inside
# `fit` chooses one factor for the standard weight of all rules. The factor 0 is one of the candidates.
# With few rows the cross-validation is uncertain, so the classes of the rows inside the rules count, too.

# %%
rules = (
    Rule("weight == 'obese'", label="fast").named("obese")
    + Rule("triglycerides >= 150", label="fast").named("fat")
    + Rule("hdl >= 60", label="slow").named("hdl")
)
clinic, others = train_test_split(table.index, train_size=40, stratify=course, random_state=0)
model = PriorSVC(rules, scale="standard").fit(table.loc[clinic], course[clinic])
display(model.report_)

# %% [markdown]
# The rows of the report are the terms of the problem. Below the table, each rule has its evidence: the
# training rows inside, how many of them have the other class, and how `mu` was chosen.
#
# The picture is a slice through the model: triglycerides and HDL, with the other columns at their median,
# or at their most frequent value. Half-filled marks are the copies. Numbers mark the worst place of each
# rule.
# Some copies have negative triglycerides: columns that follow are not limited to the range of the data.

# %%
figure, axes = plt.subplots(figsize=(8, 7.6), layout="constrained")
plot.decision(model, features=("triglycerides", "hdl"), ax=axes)
axes.set_title("A slice through the model with three rules")
plt.show()

# %% [markdown]
# Does the model agree with the rules? `verify()` counts at rows: of the training rows that a rule
# contains, how many get another class? With new rows as argument it counts there. A soft rule is a
# preference, so *no* is not an error.

# %%
display(model.verify(table.loc[others]))

# %% [markdown]
# ## Does it help?
#
# One split proves nothing. So draw ten clinics of each size. Fit the model with rules and the plain
# model on the same patients, and compare them on all other patients. The measure is the area under the
# ROC curve (AUC), in points of 100. The comparison is paired: what counts is the difference within a
# draw.

# %%
DRAWS = 10
SIZES = (20, 40, 80)


def auc(model, rows):
    """Return the area under the ROC curve, in points."""
    score = model.decision_function(table.loc[rows])
    return 100 * roc_auc_score(course[rows] == model.classes_[1], score)


records = []
for size in SIZES:
    for seed in range(1, DRAWS + 1):
        train, test = train_test_split(table.index, train_size=size, stratify=course, random_state=seed)
        found = {"patients": size, "seed": seed}
        for name, prior in (("plain", None), ("rules", rules)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PriorSVMWarning)  # of rules that a small draw contradicts
                fitted = PriorSVC(prior, scale="standard").fit(table.loc[train], course[train])
            found[name] = auc(fitted, test)
        records.append(found)
draws = pd.DataFrame(records).set_index(["patients", "seed"])
gain = draws["rules"] - draws["plain"]
summary = draws.groupby("patients").mean()
summary["gain"] = gain.groupby("patients").mean()
summary["standard error"] = gain.groupby("patients").sem()
summary["better"] = (gain > 0).groupby("patients").sum()
summary["worse"] = (gain < 0).groupby("patients").sum()
display(summary.round(1))

# %%
figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
for place, size in enumerate(SIZES):
    values = np.sort(gain[size])
    axes.plot(place + np.linspace(-0.12, 0.12, DRAWS), values, "o", color=BLUE, alpha=0.6)
    axes.errorbar(place + 0.25, values.mean(), values.std(ddof=1) / DRAWS**0.5, fmt="D", color=RED, capsize=4)
axes.axhline(0, color="black", linewidth=0.8)
axes.set_xticks(range(len(SIZES)), [f"{size} patients" for size in SIZES])
axes.set(ylabel="gain of AUC, points", title="Each draw (circles), and the mean with its standard error")
plt.show()

# %% [markdown]
# With 20 and 40 patients the rules gain five to six points on average, and hardly any draw loses. A few
# large gains carry much of the mean. With 80 patients the gain is 1.5 points, and some draws lose:
# the rows tell the model what the rules say. The draws share patients, so the standard errors are a
# little too small.
#
# This is one table, with rules that fit it. The page *Does it help?* of the documentation has fourteen real
# tables. On some of them the same kind of rule gains nothing, because the plain model is good or the rule
# is vague.
#
# ## A rule that is wrong
#
# Suppose the label of a rule is wrong. At `fit`, every rule is compared with the training rows. The test
# counts base rates: are rows of another class more frequent inside than chance explains? If so, the
# warning is `AgainstData`.

# %%
reversed_rule = Rule("triglycerides >= 150", label="slow")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    PriorSVC(reversed_rule, scale="standard").fit(table.loc[clinic], course[clinic])
against = [warning for warning in caught if warning.category is AgainstData]
print(against[0].message)

# %% [markdown]
# How often is a wrong label noticed? Count over the draws above: each rule with the wrong label, and, as
# a control, each rule with the right label.

# %%
turned = {"fast": "slow", "slow": "fast"}
labels = {name: rule.label for name, rule, _ in rules}
right = clone(rules).set_params(**{f"{name}__mu": 1.0 for name in labels})
wrong = clone(right).set_params(**{f"{name}__label": turned[label] for name, label in labels.items()})
counts = []
for size in SIZES:
    for name, prior in (("right", right), ("reversed", wrong)):
        flagged = 0
        for seed in range(1, DRAWS + 1):
            train, _ = train_test_split(table.index, train_size=size, stratify=course, random_state=seed)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                PriorSVC(prior, scale="standard").fit(table.loc[train], course[train])
            flagged += sum(warning.category is AgainstData for warning in caught)
        counts.append({"patients": size, "rules": name, "noticed, %": 100 * flagged / (3 * DRAWS)})
noticed = pd.DataFrame(counts).pivot(index="patients", columns="rules", values="noticed, %")
display(noticed.round(0))

# %% [markdown]
# Right rules are never flagged here. Few of the reversed rules are noticed with 20 patients, nearly half
# with 40, and three in four with 80: with few rows inside, chance explains much. `mu="auto"` is a second
# protection, because its cross-validation can give harmful rules a smaller weight, or 0.
#
# ## One patient
#
# `explain` has the score of a patient, its parts by column, the rules that contain the patient, the nearest
# training rows, and the smallest change of one column that changes the class.

# %%
patient = table.loc[others].query("weight == 'obese' and hdl >= 60").iloc[0]
explanation = model.explain(patient)
print(explanation)

# %%
figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
plot.explain(explanation, ax=axes)
plt.show()

# %% [markdown]
# The parts add up to the score. On this linear model they are exact: weight times distance from the mean of
# the training rows. Two rules contain this patient, and they contradict each other. The text says which of
# them the prediction agrees with.
#
# A flip is a statement about the model, not advice for treatment. Set the value and predict to verify it:

# %%
flip = explanation.flips[0]
changed = patient.to_frame().T.astype(table.dtypes.to_dict())
changed[flip.column] = flip.new
print(f"{flip.column} = {patient[flip.column]}: {explanation.label}")
print(f"{flip.column} = {flip.new}: {model.predict(changed)[0]}")

# %% [markdown]
# ## The methods paragraph
#
# `methods_text` describes the fitted model: data, model, rules, weights and how they were chosen, solver.
# The keys in brackets are those of the list of references. Where the rules come from and how the model
# was evaluated is for you to add.

# %%
print(textwrap.fill(model.methods_text(), 100))

# %% [markdown]
# ## Keep the model
#
# `priorsvm.save` writes a file without code in it. The file contains the rows of the clinic: treat it
# like the table.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "course.skops"
    priorsvm.save(model, path)
    twin = priorsvm.load(path)
equal = np.array_equal(twin.decision_function(table.loc[others]), model.decision_function(table.loc[others]))
print("equal scores:", bool(equal))

# %% [markdown]
# ## Exercises
#
# 1. The limit of 150 mg/dl for triglycerides is 1.7 mmol/l. Write the rule with 1.7. What happens at `fit`?
# 2. The other patients have no label yet, but their measurements exist. Give them to the rules as
#    `unlabeled=`. Which AUC has the clinic of forty?
# 3. Require the rule on triglycerides with `hard=True`, at *every* point of its region and without a
#    weight. What happens to the weights of the columns that it does not name?
#
# ## Solutions
#
# **1.** Every patient has more than 1.7, so the rule contains all rows. The warning `FarFromData` names
# factors between usual units that move the threshold into the data. (The factor of triglycerides, 88.6, is
# not among them, but 100 points in the right direction.)

# %%
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    PriorSVC(Rule("triglycerides >= 1.7", label="fast"), scale="standard").fit(
        table.loc[clinic], course[clinic]
    )
far = [warning for warning in caught if warning.category is FarFromData]
print(far[0].message)

# %% [markdown]
# **2.** Rows without a label join the rows that the rules are applied to. The rules then use rows inside
# their regions as they are, and move fewer rows. In this clinic the AUC hardly changes. One clinic
# is not evidence; *Does it help?* has means over tables and draws.

# %%
unlabeled, test = train_test_split(others, train_size=200, random_state=0)
pooled = clone(rules).set_params(**{f"{name}__unlabeled": table.loc[unlabeled] for name in rules.names})
with_pool = PriorSVC(pooled, scale="standard").fit(table.loc[clinic], course[clinic])
plain = PriorSVC(scale="standard").fit(table.loc[clinic], course[clinic])
for name, fitted in (("plain", plain), ("rules", model), ("rules, 200 unlabelled rows", with_pool)):
    print(f"{name:27s} {auc(fitted, test):.1f}")

# %% [markdown]
# **3.** At every point means: for every combination of the other columns in the range of the data, also
# for combinations that no patient has. A linear model satisfies that only with small weights of the other
# columns. The warning `ZeroedColumns` reports weights that became 0. In exchange the rule is proven for
# every point of its region. In this clinic the model is not worse for it, because triglycerides alone
# predict the course well. If the other columns matter to you, use the rule on rows.

# %%
hard = Rule("triglycerides >= 150", label="fast", hard=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    strict = PriorSVC(hard, scale="standard").fit(table.loc[clinic], course[clinic])
for warning in caught:
    print(f"{warning.category.__name__}: {warning.message}")
weights = pd.DataFrame({"plain": plain.coef_[0], "hard rule": strict.coef_[0]}, index=plain.encoded_names_)
display(weights.round(3))
print(strict.verify())
print(f"AUC: plain {auc(plain, others):.1f}, hard rule {auc(strict, others):.1f}")

# %% [markdown]
# ## What this lesson claims, checked

# %%
# With few patients the rules help, by more than two standard errors; with 80 hardly.
means = summary["gain"]
errors = summary["standard error"]
assert (means[[20, 40]] > 3).all()
assert (means[[20, 40]] > 2 * errors[[20, 40]]).all()
assert 0 < means[80] < 2
assert summary.loc[80, "worse"] >= 2
assert (summary.loc[[20, 40], "worse"] <= 1).all()

# Right rules are not flagged; reversed rules are, the more often the more rows there are.
assert (noticed["right"] == 0).all()
assert 10 < noticed.loc[20, "reversed"] < 30
assert 40 <= noticed.loc[40, "reversed"] <= 60
assert 70 < noticed.loc[80, "reversed"] < 90
assert "10 of another class" in str(against[0].message)

# The parts add up to the score, and `predict` confirms the flip.
total = explanation.base + sum(part.part for part in explanation.parts)
np.testing.assert_allclose(total, explanation.score, atol=1e-9)
assert model.predict(changed)[0] == flip.label != explanation.label
text = str(explanation)
assert "The prediction agrees" in text
assert "The prediction disagrees" in text

# The paragraph names the rules, the weights and the choice.
paragraph = model.methods_text()
assert "weight == 'obese'" in paragraph
assert "cross-validation" in paragraph
assert equal

# No weight of a column that the rules do not name is zero; the hard rule has such weights.
assert (np.abs(model.coef_) > 1e-6).all()
assert np.sum(np.abs(strict.coef_) < 1e-6) >= 5
assert strict.verify()["rule"].proven
assert "times 100" in str(far[0].message)
assert auc(plain, test) < min(auc(model, test), auc(with_pool, test))
assert abs(auc(model, test) - auc(with_pool, test)) < 1
print("all claims hold")
