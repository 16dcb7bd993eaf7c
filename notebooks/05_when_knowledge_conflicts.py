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
# # What if two things you know cannot both be true?
#
# One doctor says: a large tumour is malignant. Another says: a tumour of smooth texture is benign. And then
# there is a large, smooth tumour. Knowledge comes from people, and people contradict each other, and the data
# too. This notebook lets rules clash with rules and with rows. How do you notice, who is to blame, and what
# does peace cost?

# %%
import itertools
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

from priorsvm import Knowledge, Monotone, PriorSVC, Rule, Terms, check_knowledge, plot
from priorsvm.errors import (
    AgainstData,
    CollapsedModel,
    DirectionAgainstData,
    Infeasible,
    OppositeRules,
    Outbid,
    ZeroedColumns,
)
from priorsvm.testing import LawBroken

# Rules below contradict rows and each other on purpose.
for category in (AgainstData, DirectionAgainstData, OppositeRules, Outbid, ZeroedColumns):
    warnings.simplefilter("ignore", category)

BLUE, RED = "#0072B2", "#D55E00"

# %% [markdown]
# The two columns are *worst texture* and *worst area* of the breast cancer table that comes with
# scikit-learn, and a hundred of its rows are at hand. We made up the rules with a look at the whole table. So
# what follows shows what rules do, and no score here says how good they are.

# %%
table = load_breast_cancer(as_frame=True)
tumours = table.data[["worst texture", "worst area"]].rename(columns=lambda name: name.removeprefix("worst "))
finding = np.where(table.target == 1, "benign", "malignant")
here = np.random.default_rng(0).permutation(len(finding))[:100]
X, y = tumours.iloc[here], finding[here]

large = Rule("area >= 1000", label="malignant", hard=True).named("large")
smooth = Rule("texture <= 20", label="benign", hard=True).named("smooth")
window = (11, 46, 100, 2700)

figure, panels = plt.subplots(1, 2, figsize=(11, 5.4), sharey=True, layout="constrained")
for axes, (name, rule) in zip(panels, (("large", large), ("smooth", smooth)), strict=True):
    alone = PriorSVC(rule, kernel="rbf", scale="standard").fit(X, y)
    plot.decision(alone, ax=axes, extent=window)
    axes.set_title(f"'{name}' alone: fine")
    axes.label_outer()
plt.show()

# %% [markdown]
# ## Both at once
#
# Both rules are hard. A hard rule is a constraint and not a wish: $f \ge 1$ everywhere in the one region,
# $f \le -1$ everywhere in the other. (The score is that of *malignant*, the last of the classes.)

# %%
try:
    PriorSVC(large + smooth, kernel="rbf", scale="standard").fit(X, y)
    message = ""
except Infeasible as error:
    message = str(error)
print(message)

# %% [markdown]
# Read it piece by piece:
#
# - *No decision function satisfies every hard constraint.* Not this model, not with another $C$. The rows
#   have nothing to do with it: their slacks give way to anything.
# - *These conflict*: the blocks by the names we gave, rules in their own words.
# - *Removing any one restores feasibility*: the list is as short as it can be. Nobody on it is there by
#   accident.
# - *Both apply to the point ...*: where they meet. There $f$ would have to be at least 1 and at most -1.
#   Go there and ask both doctors.
#
# ## Three ways out
#
# Let one of them give way (`hard=False`, the other stands), or let one of them say less. The third way, to
# leave one out, needs no picture.

# %%
soft_smooth = Rule("texture <= 20", label="benign", mu=3.0, holds="everywhere").named("smooth")
soft_large = Rule("area >= 1000", label="malignant", mu=3.0, holds="everywhere").named("large")
less = Rule("texture <= 20 and area <= 800", label="benign", hard=True).named("smooth")
peace = {
    "'smooth' is soft": large + soft_smooth,
    "'large' is soft": soft_large + smooth,
    "'smooth' says less": large + less,
}
figure, panels = plt.subplots(1, 3, figsize=(14, 4.6), sharey=True, layout="constrained")
models = {}
for axes, (name, prior) in zip(panels, peace.items(), strict=True):
    models[name] = PriorSVC(prior, kernel="rbf", scale="standard").fit(X, y)
    plot.decision(models[name], ax=axes, extent=window, legend=False)
    axes.set_title(f"{name}: {models[name].score(X, y):.0%} of the rows right")
    axes.label_outer()
plt.show()

# %% [markdown]
# Hatched regions with a solid border are hard, with a dashed border soft. A white plus is where a rule holds
# by the least, a black cross where one is violated most. `verify` has the numbers: where $f$ is worst, by how
# much it falls short of the margin, and whether that is proven.

# %%
verdicts = {name: model.verify() for name, model in models.items()}
for name, verdict in verdicts.items():
    print(name)
    print(verdict, "\n")

# %% [markdown]
# The first two models keep one rule and break the other by more than 2. They cannot do better: in the
# common corner one asks for $f \ge 1$, and the other gets $-f \le -1$ where it wanted $-f \ge 1$.
#
# ## What a soft rule costs
#
# A soft rule everywhere adds $C \mu\,\zeta$ to the objective, where $\zeta$ is its worst shortfall and here
# $C = 1$. Two soft versions of
# *smooth* next to the hard *large*, on a linear model and over a range of $\mu$: the one that contradicts,
# and the one that says less.

# %%
mus = np.logspace(-1, 3, 17)
texts = {"contradicts": "texture <= 20", "says less": "texture <= 20 and area <= 800"}
objectives, shortfalls = {}, {}
for name, text in texts.items():
    prior = large + Rule(text, label="benign", holds="everywhere").named("smooth")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapsedModel)  # we come to that
        path = PriorSVC(prior, scale="standard").fit_path(X, y, {"smooth__mu": mus})
    objectives[name] = np.array([model.objective_ for model in path])
    shortfalls[name] = np.array([max(0.0, -model.verify()["smooth"].worst) for model in path])
hard = PriorSVC(large + less, scale="standard").fit(X, y)


def price_of(model, block):
    """The dual value of a rule about boxes on a linear model."""
    return next(row.price for row in model.report_[block] if row.term == "box")


price = price_of(hard, "smooth")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for (name, style), colour in zip({"contradicts": "o-", "says less": "s--"}.items(), (RED, BLUE), strict=True):
    left.semilogx(mus, shortfalls[name], style, color=colour, markersize=4, label=name)
    right.loglog(mus, objectives[name], style, color=colour, markersize=4, label=name)
left.axhline(2, color="black", linewidth=1, linestyle=":")
for axes in (left, right):
    axes.axvline(price, color=BLUE, linewidth=1, linestyle=":")
    axes.set_xlabel(r"$\mu$")
    axes.legend()
left.set_title(r"Worst shortfall $\zeta$; dotted: 2, and the price")
right.set_title("Objective")
plt.show()
print(f"price of the hard rule that says less: {price:.2f}")

# %% [markdown]
# The rule that says less can be bought: from some $\mu$ on it holds, and more changes nothing. That $\mu$ is
# the **price** the report shows for the hard rule, its dual value. The one that contradicts cannot be bought
# at any price: $\zeta$ never falls below 2, and the objective grows for ever.
#
# The curves on the right have a slope (not the one you see: the axes are logarithmic), and it is the curve on
# the left: $\mathrm{d}J / \mathrm{d}\mu = \zeta$. So $J$ rises ever more slowly, and $\zeta$ never grows with
# $\mu$. A price is what the last bit of a rule costs.
#
# And the warnings? At large $\mu$ the linear model has given up:

# %%
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    heavy = Rule("texture <= 20", label="benign", mu=1000.0, holds="everywhere").named("smooth")
    collapsed = PriorSVC(large + heavy, scale="standard").fit(X, y)
caught = [warning for warning in caught if warning.category is CollapsedModel]
print(caught[0].category.__name__ + ":", caught[0].message)
print("weights:", np.abs(collapsed.coef_[0]).round(6), " bias:", collapsed.intercept_.round(6))

# %% [markdown]
# ## Three who agree in pairs
#
# Two rules that clash share a point, and one can see it. It can be more hidden. Small tumours are benign,
# large ones malignant, very large ones (says a third doctor) benign again. No two of these clash. But on a
# *linear* model all three cannot be: a straight line does not come back.

# %%
rules = {
    "small": Rule("area <= 500", label="benign", hard=True),
    "large": Rule("area between 1000 and 1500", label="malignant", hard=True),
    "huge": Rule("area >= 2000", label="benign", hard=True),
    "rough": Monotone({"texture": +1}, label="malignant", hard=True),
}
members = {name: block.named(name) for name, block in rules.items()}


def fits(names, **parameters):
    """Whether the rules of these names can all hold; if not, what the error says."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapsedModel)
            PriorSVC(sum(members[name] for name in names), scale="standard", **parameters).fit(X, y)
    except Infeasible as error:
        return False, str(error)
    return True, ""


together = {names: fits(names)[0] for k in (2, 3, 4) for names in itertools.combinations(members, k)}
for names, well in together.items():
    print(f"{'fits' if well else 'CONFLICT':9s}", " + ".join(names))
_, three = fits(members)
print("\n" + three)

# %% [markdown]
# *rough* (the score rises with the texture) was in the sum and is not blamed. How was that found? By a
# **deletion filter**: leave one rule out; if the rest still clashes, it was not needed and stays out; if the
# rest fits, it belongs to the clash and comes back. After one round through all of them a smallest set is
# left.

# %%
suspects = list(members)
for name in list(suspects):
    rest = [other for other in suspects if other != name]
    clash = not fits(rest)[0]
    print(f"without {name:6s} {'still a clash: not needed' if clash else 'it fits: part of the clash'}")
    if clash:
        suspects = rest
print("smallest set:", suspects)

# %% [markdown]
# "Smallest" means that none can be spared. There may be other such sets, and a second clash behind the first;
# it shows when the first is settled.
#
# On a bent model the three are no clash at all. Rules that share no point never are, if the kernel can bend
# enough. So there are two ways to read the message: *the rules are wrong*, or *the model is too stiff*.

# %%
bent = PriorSVC(sum(members[name] for name in suspects), kernel="rbf", scale="standard").fit(X, y)
figure, axes = plt.subplots(figsize=(7, 5.4), layout="constrained")
plot.decision(bent, ax=axes, extent=window)
axes.set_title("All three, on a model that bends")
plt.show()
bent_verdict = bent.verify()
print(bent_verdict)

# %% [markdown]
# ## Knowledge against data
#
# A rule that contradicts the *rows* is no error. Rows have slack, so even a hard rule that is plainly wrong
# can be obeyed, and the rows pay. Nobody will tell you, unless you ask. Three questions help:
#
# - How many rows lie in the region, and how many of them are of another class?
# - What did the rule do to the loss?
# - What is its *price*? It is how hard rows and regulariser push back.

# %%
claims = {
    "true": ("area >= 1000", "malignant"),
    "wrong": ("texture >= 25", "benign"),
}
plain = PriorSVC(scale="standard").fit(X, y)
prices, disagree = {}, {}
print(f"{'':6s}{'rows inside':>12s}{'against it':>12s}{'objective':>11s}{'loss':>7s}{'price':>7s}")
print(f"{'none':6s}{'':24s}{plain.objective_:11.1f}{plain.report_['svm'][1].contribution:7.1f}")
for name, (text, label) in claims.items():
    inside = X.eval(text).to_numpy()
    disagree[name] = np.mean(y[inside] != label)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapsedModel)
        model = PriorSVC(Rule(text, label=label, hard=True), scale="standard").fit(X, y)
    prices[name] = price_of(model, "rule")
    print(
        f"{name:6s}{inside.sum():12d}{disagree[name]:12.0%}{model.objective_:11.1f}"
        f"{model.report_['svm'][1].contribution:7.1f}{prices[name]:7.1f}"
    )

# %% [markdown]
# A high price is a question and not an answer: *who* is wrong, the rule or the rows? That cannot be read off.
# The true rule has a price, too: a hundred rows with a margin of their own do not want to be pushed around.
# The rows inside say more, if there are any; and rules are most useful where there are none.
#
# ## Let new rows decide
#
# One thing can be done without a doctor. Make the rule soft, and let cross-validation choose its weight with
# **0 among the values**: 0 is no rule at all. Ten draws of twenty training rows, all others to test with.

# %%
names = ["plain", "true rule", "true, weight chosen", "wrong rule", "wrong, weight chosen"]
weights, errors, chosen = [0.0, 0.1, 1.0], [], {"true": [], "wrong": []}
for seed in range(10):
    train, test = train_test_split(
        np.arange(len(finding)), train_size=20, stratify=finding, random_state=seed
    )

    def error(model, train=train, test=test):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapsedModel)  # the wrong rule can leave nothing of f
            model.fit(tumours.iloc[train], finding[train])
        return 100 * (1 - model.score(tumours.iloc[test], finding[test]))

    row = [error(PriorSVC(scale="standard"))]
    for name, (text, label) in claims.items():
        told = PriorSVC(Rule(text, label=label, mu=3.0, holds="everywhere").named("rule"), scale="standard")
        search = GridSearchCV(told, {"prior__rule__weight": weights}, cv=StratifiedKFold(4))
        row += [error(told), error(search)]
        chosen[name].append(search.best_params_["prior__rule__weight"])
    errors.append(row)
errors = np.array(errors)
always_benign = 100 * np.mean(finding == "malignant")

figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for place, found in enumerate(errors.T):
    axes.plot(found, np.full(len(found), place), "o", color="0.6", markersize=5)
    axes.plot(found.mean(), place, "D", color=RED if "wrong" in names[place] else BLUE, markersize=8)
axes.axvline(always_benign, color="black", linewidth=1, linestyle=":")
axes.set_yticks(range(len(names)), names)
axes.invert_yaxis()
axes.set(xlabel="test error in %; diamonds are means of ten draws, dotted: always benign", xlim=(0, None))
plt.show()
for name, found in zip(names, errors.mean(axis=0), strict=True):
    print(f"{name:22s}{found:5.1f} % test error")
print("weights chosen for the true rule: ", chosen["true"])
print("weights chosen for the wrong rule:", chosen["wrong"])

# %% [markdown]
# With so few rows the true rule helps, the wrong one is a disaster, and cross-validation sees that. It is not
# free: now and then it throws out the true rule, where twenty rows do not show its use, so it gains less than
# somebody who *knows*. That is the trade: trust the rule, or trust twenty rows. Nor is it sure: with a weight
# of 10 among the values and five folds, which takes longer, it gave the wrong rule a weight of 0.1 in two of
# these ten draws.
#
# ## A block that contradicts itself
#
# If you write blocks of your own, they can be wrong in another way: not in what they say but in how they say
# it. `check_knowledge` runs a block through the laws that all blocks obey. Here is one whose author turned
# a sign around. It wants $f$ to be at least 1 at a point, and adds that $-f$ should be, too.


# %%
class AtLeastOne(Knowledge):
    """f(point) >= 1, or so its author thinks."""

    def __init__(self, point, slip=True):
        self.point, self.slip = point, slip

    def build(self, f, view):
        score = f([self.point])
        rows = {"up": score >= 1}
        if self.slip:
            rows["down"] = -score >= 1
        return Terms(constraints=rows)


point = [0.5, 0.0, 1.0]  # check_knowledge brings rows of three columns
try:
    check_knowledge(AtLeastOne(point))
    law = ""
except LawBroken as error:
    law = str(error)
print(law)
passed = check_knowledge(AtLeastOne(point, slip=False))
print(f"\nwithout the slip it passes {len(passed)} laws, such as: {'; '.join(passed[:4])}")

# %% [markdown]
# ## Where to look
#
# | you see | it means | do |
# |---|---|---|
# | `Infeasible` | hard blocks contradict each other, on this model | soften one; say less; a kernel |
# | `CollapsedModel` | a block leaves nothing of $f$ but a constant | soften it, shrink its region, a kernel |
# | `verify()` says no | a soft rule gave way | look where; raise `mu`, up to its price |
# | a high price in `report_` | rows or other rules push back | look at the rows inside |
# | cross-validation chooses 0 | the rows at hand see no use in it | believe them, or know better |
# | `LawBroken` | a block of your own is written wrongly | the law says what |
#
# ## Exercises
#
# 1. `area <= 1000` is benign, `area >= 1000` is malignant. Does that clash? What if there is a gap between
#    them, and what does a narrow gap cost?
# 2. Two rules of which both are soft contradict each other in a point. How small can $\zeta_1 + \zeta_2$ be?
#    Who gives way?
# 3. Can other rows make a clash go away? Other labels?
# 4. "The score of *malignant* falls with the area" (`Monotone`, hard) against *large* and *small*. Do they
#    clash? Which of the pairs do?
#
# ## Solutions
#
# **1.** It does: the border belongs to both. Any gap will do, but $f$ has to climb from -1 to 1 within it, so
# the slope is at least 2 over the gap, and the regulariser grows with its square.

# %%
gaps = np.array([400.0, 200.0, 100.0, 50.0])


def two_sides(gap):
    low = Rule(f"area <= {1000 - gap / 2}", label="benign", hard=True).named("low")
    return low + Rule(f"area >= {1000 + gap / 2}", label="malignant", hard=True).named("high")


steep = [PriorSVC(two_sides(gap), scale="standard").fit(X, y) for gap in gaps]
slopes = np.array([model.coef_[0, 1] for model in steep])
for gap, model in zip(gaps, steep, strict=True):
    print(f"gap {gap:3.0f}: slope {model.coef_[0, 1]:.4f}, objective {model.objective_:6.1f}")
try:
    PriorSVC(two_sides(0.0), scale="standard").fit(X, y)
    touching = ""
except Infeasible as error:
    touching = str(error)
print("gap   0:", touching[-40:])

# %% [markdown]
# **2.** At the common point $f \ge 1 - \zeta_1$ and $-f \ge 1 - \zeta_2$, so $\zeta_1 + \zeta_2 \ge 2$. The
# one with the larger $\mu$ gets more of what it wants.

# %%
shares = []
for mu in (1.0, 30.0):
    both = Rule("area >= 1000", label="malignant", mu=mu, holds="everywhere").named("large") + Rule(
        "texture <= 20", label="benign", mu=31.0 - mu, holds="everywhere"
    ).named("smooth")
    checked = PriorSVC(both, kernel="rbf", scale="standard").fit(X, y).verify()
    shares.append([-checked[name].worst for name in ("large", "smooth")])
    print(f"mu {mu:2.0f} and {31 - mu:2.0f}: short by", "'large' {:.2f}, 'smooth' {:.2f}".format(*shares[-1]))

# %% [markdown]
# **3.** Other labels: never. The slacks of the rows can take any label. Other rows: yes, for these rules end
# where the data end (`within="data"`). No tumour here has a texture below 14, so *large* says nothing about
# such tumours, and a rule about them does not clash. One more row, and it does.

# %%
velvet = Rule("texture between 5 and 12", label="benign", hard=True).named("velvet")
flipped = np.where(y == "benign", "malignant", "benign")
more, more_y = pd.concat([X, pd.DataFrame({"texture": [10.0], "area": [1500.0]})]), [*y, "malignant"]
attempts = {
    "large + smooth, labels turned round": (large + smooth, X, flipped),
    "large + velvet": (large + velvet, X, y),
    "large + velvet, one more row": (large + velvet, more, more_y),
}
clashes = {}
for name, (prior, rows, labels) in attempts.items():
    try:
        PriorSVC(prior, scale="standard").fit(rows, labels)
        clashes[name] = False
    except Infeasible:
        clashes[name] = True
    print(f"{'CONFLICT' if clashes[name] else 'fits':9s}", name)

# %% [markdown]
# **4.** All three together clash, no pair does.

# %%
members["falls"] = Monotone({"area": -1}, label="malignant", hard=True).named("falls")
for names_of in (("falls", "large"), ("falls", "small"), ("small", "large"), ("falls", "large", "small")):
    well, text = fits(names_of)
    print(f"{'fits' if well else 'CONFLICT':9s}", " + ".join(names_of))
print(text)

# %% [markdown]
# ## What this notebook claims, checked

# %%
# The clash is named, in words, with a place where both speak.
assert "'large' ('area >= 1000' is 'malignant') and 'smooth' ('texture <= 20' is 'benign')" in message
assert "Both apply to the point" in message

# Who is hard stands; who is soft gives way by at least 2; who says less can hold.
assert verdicts["'smooth' is soft"]["large"].holds
assert verdicts["'smooth' is soft"]["smooth"].worst < -2
assert verdicts["'large' is soft"]["smooth"].holds
assert verdicts["'large' is soft"]["large"].worst < -2
assert verdicts["'smooth' says less"].holds

# The price is where the soft rule begins to hold; a contradiction has no price.
assert np.all(shortfalls["says less"][mus > 1.01 * price] < 1e-5)
assert np.all(shortfalls["says less"][mus < 0.99 * price] > 1e-3)
assert np.all(shortfalls["contradicts"] > 2 - 1e-6)
for name in texts:  # the objective is concave in mu, and its slope is the shortfall
    slope = np.diff(objectives[name]) / np.diff(mus)
    assert np.all(slope <= shortfalls[name][:-1] + 1e-5)
    assert np.all(slope >= shortfalls[name][1:] - 1e-5)
assert len(caught) == 1
assert np.abs(collapsed.coef_).max() < 1e-6

# Pairs fit, the three do not, and the filter finds the same set as the message.
assert all(well for names, well in together.items() if len(names) == 2)
assert [names for names, well in together.items() if not well] == [
    ("small", "large", "huge"),
    ("small", "large", "huge", "rough"),
]
assert suspects == ["small", "large", "huge"]
assert all(f"'{name}'" in three for name in suspects)
assert "'rough'" not in three
assert bent_verdict.holds

# Rows never make a rule impossible, but its price tells; cross-validation throws out the wrong rule.
assert disagree["true"] < 0.1 < 0.3 < disagree["wrong"]
assert all(value > 1 for value in prices.values())
plain_error, true_error, true_chosen, wrong_error, wrong_chosen = errors.mean(axis=0)
assert true_error < true_chosen < plain_error < wrong_error / 2
assert abs(wrong_chosen - plain_error) < 1
assert sum(weight == 0 for weight in chosen["wrong"]) >= 8
assert 0 in chosen["true"]
assert errors.max() <= always_benign + 1

# Laws.
assert "breaks the law 'the problem can be solved'" in law
assert len(passed) > 10

# The exercises.
assert np.all(slopes > 2 / gaps - 1e-6)
np.testing.assert_allclose(slopes[1:], 2 / gaps[1:], rtol=1e-4)
assert "'low'" in touching
assert all(sum(pair) > 2 - 1e-3 for pair in shares)
assert shares[0][0] > shares[0][1]
assert shares[1][0] < shares[1][1]
assert list(clashes.values()) == [True, False, True]
assert not well
assert all(f"'{name}'" in text for name in ("falls", "large", "small"))
print("all of it holds")
