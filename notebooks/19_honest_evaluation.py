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
# # How do you find out whether your rules help?
#
# A clinic has thirty tumours, two rules from another house, and a price for errors. Do the rules help? It is
# easy to deceive oneself: by a look at the test rows, by a step outside the cross-validation, or by the best
# of many scores. This lesson goes through an honest evaluation.
#
# **You learn**
#
# - to decide how to judge before anything is fitted,
# - why the best of many cross-validated scores is too good,
# - to estimate a whole procedure by nested validation, and to keep all steps in a pipeline,
# - to separate the content of a rule from its side effects by a control with wrong rules.
#
# **You need** lessons 2 and 5
#
# **Time** 25 minutes
#
# **Theorem** The expected minimum of several estimates is at most the minimum of their expectations (Jensen).

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display
from matplotlib.patches import Rectangle
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

from priorsvm import ClassCosts, PriorSVC, Rule
from priorsvm.errors import AgainstData, Outbid

# The control contradicts the rows on purpose.
warnings.simplefilter("ignore", AgainstData)
warnings.simplefilter("ignore", Outbid)

# %% [markdown]
# ## Three groups of patients
#
# The data are measurements of cell nuclei in 569 tumours, from scikit-learn. Draw three groups once. The
# **older series** belongs to another house, which derived the rules from it. It is used for nothing else. The
# **clinic** has thirty tumours. All other patients come **later**, and nothing is chosen by them.

# %%
cancer = load_breast_cancer(as_frame=True)
columns = ["radius", "texture", "smoothness", "concave points", "symmetry"]
X = cancer.data[[f"mean {name}" for name in columns]].set_axis(columns, axis=1)
finding = pd.Series(np.where(cancer.target == 1, "benign", "malignant"), name="finding")
older, rest = train_test_split(X.index, train_size=120, stratify=finding, random_state=0)
clinic, later = train_test_split(rest, train_size=30, stratify=finding[rest], random_state=0)

is_large = "radius >= 16 and `concave points` >= 0.05"
is_small = "radius <= 13 and `concave points` <= 0.03"
large = Rule(is_large, label="malignant").named("large")
small = Rule(is_small, label="benign").named("small")
for name, text in (("large", is_large), ("small", is_small)):
    inside = older[X.loc[older].eval(text)]
    print(f"{name}: {finding[inside].value_counts().to_dict()} in the older series")

# %% tags=["hide-input"]
# alt: Two panels over radius and concave points with the regions of two rules: a large older series, and the
# few patients of the clinic.
marks = {"benign": ("o", "#0072B2"), "malignant": ("^", "#D55E00")}
boxes = {"malignant": ((16, 30), (0.05, 0.21)), "benign": ((6, 13), (0.0, 0.03))}
figure, panels = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
for axes, rows, title in ((panels[0], older, "The older series"), (panels[1], clinic, "The clinic")):
    for name, (marker, colour) in marks.items():
        of = X.loc[rows[finding[rows] == name]]
        axes.scatter(of["radius"], of["concave points"], marker=marker, color=colour, s=20, label=name)
        (left, right), (bottom, top) = boxes[name]
        box = Rectangle((left, bottom), right - left, top - bottom, edgecolor=colour, hatch="//", alpha=0.4)
        box.set_fill(False)
        axes.add_patch(box)
    axes.set(xlim=(6, 30), ylim=(-0.005, 0.21), xlabel="radius", title=f"{title}, and the rules")
panels[0].set_ylabel("concave points")
panels[0].legend(loc="lower right")
plt.show()

# %% [markdown]
# ## Step 1: decide how to judge
#
# A missed malignant tumour is as bad as five false alarms. So the measure is the **cost per hundred
# patients**: five for a miss and one for a false alarm. The references need no model: call all patients
# benign, or all malignant.

# %%
MISS = 5


def cost(truth, predicted):
    """Return the cost per hundred patients."""
    truth = np.asarray(truth)
    predicted = np.asarray(predicted)
    missed = (truth == "malignant") & (predicted == "benign")
    alarms = (truth == "benign") & (predicted == "malignant")
    return 100 * (MISS * missed.mean() + alarms.mean())


scorer = make_scorer(cost, greater_is_better=False)
for name in marks:
    print(f"all {name}: {cost(finding[clinic], np.full(len(clinic), name)):.0f}")

# %% [markdown]
# ## Step 2: choose by cross-validation
#
# The prices of errors enter the model as `ClassCosts`. The rules weigh 0, 1, 5 or 20 rows, and weight 0
# leaves them out. $C$ is chosen too, because otherwise a strong rule would only correct a poor $C$. Both
# rules have one weight, so the grid is a list.


# %%
def search_over(weights, strengths):
    """Return a grid search over one weight of both rules and over C."""
    prior = ClassCosts({"malignant": MISS}) + large + small
    grid = [{"prior__large__mu": [mu], "prior__small__mu": [mu], "C": strengths} for mu in weights]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return GridSearchCV(PriorSVC(prior, scale="standard"), grid, scoring=scorer, cv=folds)


strengths = [0.1, 0.3, 1.0]
search = search_over([0, 1, 5, 20], strengths).fit(X.loc[clinic], finding[clinic])
table = pd.DataFrame(search.cv_results_).assign(cost=lambda found: -found["mean_test_score"])
display(table.pivot(index="param_prior__large__mu", columns="param_C", values="cost").round(1))
print("chosen:", search.best_params_)

# %% [markdown]
# ## The theorem: the best of many is too good
#
# The cost of the chosen model in this table is the smallest of twelve numbers. Each number is an estimate
# with a random error.
#
# **Theorem.** For random variables $A_1, \dots, A_m$ with means,
# $\mathbb E \min_k A_k \le \min_k \mathbb E A_k$.
#
# *Proof.* For each $j$, $\min_k A_k \le A_j$. So $\mathbb E \min_k A_k \le \mathbb E A_j$. This holds for all
# $j$, hence for the smallest right-hand side. (It is Jensen's inequality for the concave function $\min$.) ∎
#
# Even if each estimate is unbiased, the minimum is biased downwards, and more so for more candidates. Here
# all candidates have the same true cost 20, and each is estimated on thirty patients.

# %%
# alt: The mean of the smallest estimate falls as the number of candidates grows, while the true cost of every
# candidate is constant.
rng = np.random.default_rng(0)
numbers = [1, 2, 4, 12, 50]
estimates = 100 * rng.binomial(30, 0.2, (4000, 50)) / 30
smallest = [estimates[:, :k].min(axis=1).mean() for k in numbers]
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.semilogx(numbers, smallest, "o-", color="#D55E00", label="mean of the smallest estimate")
axes.axhline(20, color="black", linewidth=1, label="true cost of every candidate")
axes.set(xlabel="number of candidates", ylabel="cost per hundred", ylim=(0, 23), xticks=numbers)
axes.set_xticks(numbers, [str(k) for k in numbers])
axes.legend(loc="lower left")
plt.show()

# %% [markdown]
# ## Step 3: evaluate the procedure
#
# **Nested validation** estimates the *procedure*: "search on the training rows, then predict". Outer folds
# hold rows back from the whole search. `GridSearchCV` is an estimator, so this is one line. The later
# patients give a second answer. A clinic in real life does not have them. To save time, the nested searches
# have two weights only.

# %%
outer = StratifiedKFold(5, shuffle=True, random_state=1)
nested = -cross_val_score(
    search_over([0, 5], strengths), X.loc[clinic], finding[clinic], scoring=scorer, cv=outer
).mean()
truth = finding[later].to_numpy()
rivals = {
    "no rules": PriorSVC(ClassCosts({"malignant": MISS}), C=search.best_params_["C"], scale="standard"),
    "the search": search,
}
on_later = {}
for name, rival in rivals.items():
    on_later[name] = cost(truth, rival.fit(X.loc[clinic], finding[clinic]).predict(X.loc[later]))
print(f"best of the search {-search.best_score_:.1f}, nested validation {nested:.1f}")
print(", ".join(f"{name} {value:.1f}" for name, value in on_later.items()), "on the later patients")

# %% [markdown]
# The search is too optimistic. Nested validation is much closer to the truth, with a large error of its own:
# it has thirty patients. The model without rules is better on the later patients. To choose again now would
# be to choose by these patients. So the result remains.
#
# ## All steps in one pipeline
#
# Every step that learns from rows belongs *inside* the cross-validation: imputing, scaling, the selection of
# columns. A pipeline keeps them together. Rules name columns, so the steps before the model have to keep the
# names: `set_output(transform="pandas")`.

# %%
holes = X.loc[clinic].mask(np.random.default_rng(0).random((30, 5)) < 0.1)
steps = make_pipeline(SimpleImputer(), PriorSVC(large + small, scale="standard"))
steps.set_output(transform="pandas")
scores = cross_val_score(steps, holes, finding[clinic], scoring=scorer, cv=outer)
print(f"with imputed values: cost {-scores.mean():.1f}")

# %% [markdown]
# ## Step 4: was it luck, and was it the rules?
#
# One clinic is one draw. So draw twelve clinics. A rule does two things: it states a class, and it holds
# weights small, as a smaller $C$ would. The **control** separates the two: the same rules with exchanged
# labels. If the control helps as much, the content of the rules does not matter.

# %%
costs = ClassCosts({"malignant": MISS})
right_rules = Rule(is_large, label="malignant", mu=5.0) + Rule(is_small, label="benign", mu=5.0)
reversed_rules = Rule(is_large, label="benign", mu=5.0) + Rule(is_small, label="malignant", mu=5.0)
priors = {"no rules": costs, "rules": costs + right_rules, "reversed rules": costs + reversed_rules}
records = []
for seed in range(1, 13):
    train, test = train_test_split(rest, train_size=30, stratify=finding[rest], random_state=seed)
    for strength in strengths:
        found = {"C": strength, "seed": seed}
        for name, prior in priors.items():
            fitted = PriorSVC(prior, C=strength, scale="standard").fit(X.loc[train], finding[train])
            found[name] = cost(finding[test], fitted.predict(X.loc[test]))
        records.append(found)
repeated = pd.DataFrame(records).set_index(["C", "seed"])
means = repeated.groupby("C").mean()
saved = repeated["no rules"] - repeated["rules"]
for strength, gain in saved.groupby("C"):
    print(f"C = {strength}: the rules save {gain.mean():+.1f} ± {gain.sem():.1f}")

# %%
# alt: Cost per hundred later patients over C, means of twelve clinics with standard errors. No rules and
# rules are close, reversed rules are worse.
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
looks = {"no rules": ("o-", "black"), "rules": ("D-", "#D55E00"), "reversed rules": ("s--", "#0072B2")}
for name, (style, colour) in looks.items():
    errors = repeated[name].groupby("C").sem()
    axes.errorbar(means.index, means[name], errors, fmt=style, color=colour, capsize=3, label=name)
axes.set(xscale="log", xlabel="C", ylabel="cost per hundred later patients", ylim=(0, None))
axes.set_xticks(strengths, [str(strength) for strength in strengths])
axes.minorticks_off()
axes.set_title("Means of twelve clinics, with standard errors")
axes.legend()
plt.show()

# %% [markdown]
# The reversed rules are worse at every $C$, so the content of the rules matters. But the right rules save
# nothing at the two smaller values of $C$, and about two standard errors at the largest. (The clinics share
# patients, so the standard errors are a little too small.) The best mean of all belongs to the model without
# rules. The honest answer: thirty tumours already contain what the two rules state. Report this, or leave the
# rules out. Lesson 5 has a table on which rules do help.
#
# ## Exercises

# %%
noise = np.random.default_rng(1).normal(size=(100, 500))
coin = np.arange(100) % 2
folds = StratifiedKFold(5, shuffle=True, random_state=0)
selected = SelectKBest(k=10).fit_transform(noise, coin)
print(f"selected with all rows: {cross_val_score(PriorSVC(), selected, coin, cv=folds).mean():.0%} correct")

# %% [markdown] tags=["exercise"]
# ### Exercise 1: a selection without a leak
#
# The columns below are pure noise, so no model can be better than 50 %. Someone selects the ten best of 500
# columns with all rows, and then cross-validates. The score is excellent. Do it right: give the score of a
# pipeline with `SelectKBest(k=10)` and `PriorSVC()`, with the same folds.

# %% tags=["answer"]
honest = ...  # your answer: the mean score of a pipeline

# %% tags=["solution"]
honest = cross_val_score(make_pipeline(SelectKBest(k=10), PriorSVC()), noise, coin, cv=folds).mean()
print(f"selected in each fold: {honest:.0%} correct")

# %% tags=["check"]
assert isinstance(honest, float), "Give one number, the mean over the folds."
assert honest < 0.7, "Noise cannot be predicted. Are the held-out rows hidden from the selection?"
again = cross_val_score(make_pipeline(SelectKBest(k=10), PriorSVC()), noise, coin, cv=folds).mean()
assert np.isclose(honest, again), "Use SelectKBest(k=10), PriorSVC() and the variable folds."

# %% tags=["wrong"]
honest = float(
    cross_val_score(PriorSVC(), SelectKBest(k=10).fit_transform(noise, coin), coin, cv=folds).mean()
)

# %% [markdown] tags=["exercise"]
# ### Exercise 2: how much too good?
#
# In `estimates`, each row is one study with 50 candidates. Give `optimism`: by how much the smallest of the
# first twelve estimates is below the smallest *expected* cost, on average. Then give `chance`: in which share
# of the studies the smallest of twelve is below the true cost 20.

# %% tags=["answer"]
optimism = ...  # your answer: a number
chance = ...  # your answer: a number between 0 and 1

# %% tags=["solution"]
twelve = estimates[:, :12].min(axis=1)
optimism = 20 - twelve.mean()
chance = np.mean(twelve < 20)
print(f"too good by {optimism:.1f} on average, and in {chance:.0%} of the studies")

# %% tags=["check"]
assert optimism > 0, "By the theorem the expected minimum is lower."
assert np.isclose(20 - optimism, smallest[3]), "Take the minimum in each study first, then the mean."
assert 0 <= chance <= 1, "A share is between 0 and 1."
assert np.isclose(np.sum(np.sort(estimates[:, :12])[:, 0] < 20) / 4000, chance), (
    "Count studies, not candidates."
)

# %% tags=["wrong"]
optimism = 20 - estimates[:, :12].mean(axis=0).min()
chance = np.mean(estimates[:, :12] < 20)

# %% [markdown] tags=["exercise"]
# ### Exercise 3: a second doctor
#
# All later patients with $|f(x)| < 1$ go to a second doctor. Use the model `rivals["no rules"]`. Give the
# mask `sure` of the other patients, and their cost per hundred, `cost_of_sure`.

# %% tags=["answer"]
sure = ...  # your answer: True for patients that do not go to the second doctor
cost_of_sure = ...  # your answer: their cost per hundred

# %% tags=["solution"]
f = rivals["no rules"].decision_function(X.loc[later])
sure = np.abs(f) >= 1
cost_of_sure = cost(truth[sure], rivals["no rules"].predict(X.loc[later])[sure])
print(f"{np.sum(~sure)} of {len(later)} patients go to a second doctor, the others cost {cost_of_sure:.1f}")

# %% tags=["check"]
assert np.shape(sure) == (len(later),), "The mask has one entry for each later patient."
inside = np.abs(rivals["no rules"].decision_function(X.loc[later])) < 1
assert not np.any(sure & inside), "Some of these patients are inside the margin."
assert np.all(sure | inside), "Some patients outside the margin are missing."
expected = cost(truth[sure], rivals["no rules"].predict(X.loc[later[sure]]))
assert np.isclose(cost_of_sure, expected), "Use the function cost on the patients of the mask."

# %% tags=["wrong"]
sure = rivals["no rules"].decision_function(X.loc[later]) >= 1
cost_of_sure = cost(truth[sure], rivals["no rules"].predict(X.loc[later])[sure])

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The claims of this lesson.
# The groups do not overlap, and the rules have no exception in the series they come from.
assert not set(older) & set(rest)
assert not set(clinic) & set(later)
for text, name in ((is_large, "malignant"), (is_small, "benign")):
    assert (finding[older[X.loc[older].eval(text)]] == name).all()

# The search is too optimistic, nested validation is closer, and the rules do not help this clinic.
assert -search.best_score_ < on_later["the search"]
assert abs(nested - on_later["the search"]) < abs(-search.best_score_ - on_later["the search"])
assert on_later["no rules"] < on_later["the search"]

# The minimum of more estimates is smaller.
assert abs(smallest[0] - 20) < 0.5
assert np.all(np.diff(smallest) < 0)

# Over twelve clinics: reversed rules are worse at every C; right rules save little, and at C = 1 only.
assert (means["reversed rules"] > means["rules"] + 2).all()
assert (saved.groupby("C").mean()[[0.1, 0.3]].abs() < 1).all()
assert 1 < saved[1.0].mean() < 2.5 * saved[1.0].sem()
assert means.loc[0.1, "no rules"] == means.to_numpy().min()

# The second doctor takes the expensive patients.
outside = np.abs(rivals["no rules"].decision_function(X.loc[later])) >= 1
assert cost(truth[outside], rivals["no rules"].predict(X.loc[later[outside]])) < 0.7 * on_later["no rules"]
print("all claims hold")

# %% [markdown]
# **Next** lesson 20 puts six pieces of knowledge into one model.
