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
# One doctor says: a large tumour is malignant. Another doctor says: a tumour of smooth texture is benign.
# And then there is a large, smooth tumour. This lesson shows how such a conflict is noticed, proved and
# resolved.
#
# **You learn**
#
# - to read the error `Infeasible`, and three ways out of it;
# - Farkas' lemma: every conflict of linear constraints has a short proof;
# - to find a smallest set of rules in conflict with a deletion filter;
# - why rows never make a rule infeasible, and how to see that they disagree.
#
# **You need** lesson 6, and of lesson 7 only that hard rules can hold on kernel models, and `Monotone`.
#
# **Time** 25 minutes
#
# **Theorem** Farkas' lemma: either linear inequalities have a solution, or a nonnegative combination of
# them is a contradiction.

# %%
import itertools
import warnings

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from priorsvm import Monotone, PriorSVC, Rule, plot
from priorsvm.errors import AgainstData, CollapsedModel, Infeasible, OppositeRules, Outbid, ZeroedColumns

# Rules below contradict rows and each other on purpose.
for category in (AgainstData, CollapsedModel, OppositeRules, Outbid, ZeroedColumns):
    warnings.simplefilter("ignore", category)

table = load_breast_cancer(as_frame=True)
tumours = table.data[["worst texture", "worst area"]].rename(columns=lambda name: name.removeprefix("worst "))
finding = np.where(table.target == 1, "benign", "malignant")
here = np.random.default_rng(0).permutation(len(finding))[:100]
X, y = tumours.iloc[here], finding[here]

# %% [markdown]
# ## Two rules that meet
#
# The rules were made up with a look at the table. So this lesson shows what rules do, not how good they
# are. Each of the two hard rules alone is fine.

# %%
# alt: Two panels over texture and area, each with one hard rule that holds: a wide box of class malignant,
# and a tall box of class benign. The boxes overlap.
large = Rule("area >= 1000", label="malignant", hard=True).named("large")
smooth = Rule("texture <= 20", label="benign", hard=True).named("smooth")
window = (11, 46, 100, 2700)
alone = {
    "only 'large'": PriorSVC(large, kernel="rbf", scale="standard").fit(X, y),
    "only 'smooth'": PriorSVC(smooth, kernel="rbf", scale="standard").fit(X, y),
}
plot.compare(alone, extent=window)
plt.show()

# %%
try:
    PriorSVC(large + smooth, kernel="rbf", scale="standard").fit(X, y)
    message = ""
except Infeasible as error:
    message = str(error)
print(message)

# %% [markdown]
# Read the message piece by piece:
#
# - *No decision function satisfies every hard constraint.* No other $C$ helps, and no other label of a row:
#   the slacks of rows give way to anything.
# - *These conflict*: the blocks by name, rules in their own words.
# - *Removing any one restores feasibility*: each block of the list is part of the conflict.
# - *Both apply to the point*: there $f \ge 1$ and $f \le -1$ are required. Show this point to both doctors.
#
# ## Three ways out
#
# Make the first rule soft, make the second rule soft, or give one rule a smaller region.

# %%
# alt: Three ways out of the conflict: the rule of texture is soft, the rule of area is soft, or the rule of
# texture has a smaller region. Crosses mark violations of soft rules.
soft_smooth = Rule("texture <= 20", label="benign", mu=3.0, holds="everywhere").named("smooth")
soft_large = Rule("area >= 1000", label="malignant", mu=3.0, holds="everywhere").named("large")
less = Rule("texture <= 20 and area <= 800", label="benign", hard=True).named("smooth")
ways = {
    "'smooth' is soft": large + soft_smooth,
    "'large' is soft": soft_large + smooth,
    "'smooth' is smaller": large + less,
}
models = {name: PriorSVC(prior, kernel="rbf", scale="standard").fit(X, y) for name, prior in ways.items()}
plot.compare(models, extent=window, legend=False)
plt.show()
worst = {}
for name, model in models.items():
    worst[name] = {block: model.verify()[block].worst for block in ("large", "smooth")}
for name, values in worst.items():
    print(f"{name:20s}", {block: round(float(value), 3) for block, value in values.items()})

# %% [markdown]
# A soft rule that contradicts a hard one falls short by at least 2: in the common corner $f \ge 1$ holds,
# and the soft rule requires $f \le -1$.
#
# ## The theorem
#
# **Farkas' lemma.** For a matrix $A$ and a vector $c$, exactly one of these is true:
#
# 1. there is a $z$ with $Az \le c$;
# 2. there is a $u \ge 0$ with $A^\mathsf{T} u = 0$ and $c^\mathsf{T} u < 0$.
#
# **Proof.** Both cannot be: $0 = u^\mathsf{T} A z \le u^\mathsf{T} c < 0$. Suppose 1 is false. The set
# $S = \{Az + s : s \ge 0\}$ is a closed convex cone without $c$. Let $p$ be its point nearest to $c$, and
# $u = p - c \ne 0$. No direction of $S$ leads nearer to $c$. For the directions $\pm Az$ this means
# $u^\mathsf{T} A z = 0$ for all $z$. For the directions $s \ge 0$ it means $u \ge 0$. For the directions
# $\pm p$ it means $u^\mathsf{T} p = 0$. So $c^\mathsf{T} u = u^\mathsf{T} p - \lVert u \rVert^2 < 0$. ∎
#
# So $u$ is a proof of the conflict: add up the inequalities with weights $u$, and the sum reads $0 \le$ a
# negative number.
#
# ## Three rules that agree in pairs
#
# Small tumours are benign, large ones malignant, and very large ones, says a third doctor, benign again. On
# a *linear* model $f = w\, x + b$ of the area these are four inequalities at the ends of the intervals.

# %%
ends = {"small": (500, -1), "large, from": (1000, 1), "large, to": (1500, 1), "huge": (2000, -1)}
A = np.array([[-s * place, -s] for place, s in ends.values()], dtype=float)
c = -np.ones(4)
z, slack = cp.Variable(2), cp.Variable(4, nonneg=True)
unit = np.array([1000.0, 1.0])  # the area in thousands
cp.Problem(cp.Minimize(cp.sum_squares(A / unit @ z + slack - c))).solve(solver="CLARABEL")
u = A / unit @ z.value + slack.value - c
print("u =", (u / u[0]).round(4), " A'u =", (A.T @ u / u[0]).round(3), f" c'u = {c @ u / u[0]:.3f}")

# %% [markdown]
# The nearest point of the proof was computed, and its $u$ weighs all four inequalities. In words: 500 and
# 2000 have the middle 1250. A straight line that is at most −1 at both ends is at most −1 there, and 1250
# is *large*.
#
# Each pair of these rules fits. The next cell tries all of them, with a fourth rule that is not to blame.

# %%
members = {
    "small": Rule("area <= 500", label="benign", hard=True).named("small"),
    "large": Rule("area between 1000 and 1500", label="malignant", hard=True).named("large"),
    "huge": Rule("area >= 2000", label="benign", hard=True).named("huge"),
    "rough": Monotone({"texture": +1}, label="malignant", hard=True).named("rough"),
}


def fits(names, **settings):
    """Return whether the rules of these names can all hold."""
    try:
        PriorSVC(sum(members[name] for name in names), scale="standard", **settings).fit(X, y)
    except Infeasible:
        return False
    return True


together = {names: fits(names) for count in (2, 3, 4) for names in itertools.combinations(members, count)}
print("in conflict:", [" + ".join(names) for names, well in together.items() if not well])

# %% [markdown]
# ## The deletion filter
#
# How does the library find the three rules in conflict? Leave one rule out. If the remaining rules are still
# in conflict, it stays out. If they fit, it comes back.
#
# **Claim.** After one pass a conflict is left in which no rule can be spared.
#
# **Proof.** The rules that are left are always in conflict. A rule came back because the remaining
# rules at that time fitted without it. They contain all other rules of the end. A part of a set that fits
# also fits. So without this rule the rules of the end fit, too. ∎

# %%
suspects = list(members)
for name in list(suspects):
    rest = [other for other in suspects if other != name]
    well = fits(rest)
    print(
        f"without {name:6s}", "they fit: it is part of the conflict" if well else "still a conflict: left out"
    )
    if not well:
        suspects = rest
print("irreducible conflict:", suspects)

# %% [markdown]
# "Irreducible" does not mean the only one: a second conflict may show when the first is resolved. On a
# kernel model the three rules fit, because the border may come back. Rules without a common point can
# always hold if the kernel bends enough. So the message has two readings: a rule is wrong, or the model is
# too stiff.

# %%
# alt: Three horizontal bands of alternating classes. An RBF model satisfies all three rules, because its
# border changes sides twice.
bent = PriorSVC(sum(members[name] for name in suspects), kernel="rbf", scale="standard").fit(X, y)
plot.decision(bent, extent=window)
plt.show()

# %% [markdown]
# ## Rules against rows
#
# A rule that contradicts *rows* is not infeasible, because rows have slack. Look at the rows inside, at the
# loss, and at the price of the rule.

# %%
claims = {"true": ("area >= 1000", "malignant"), "wrong": ("texture >= 25", "benign")}
plain = PriorSVC(scale="standard").fit(X, y)
disagree, prices = {}, {}
print(f"plain  loss {plain.report_['svm'][1].contribution:5.1f}")
for name, (text, label) in claims.items():
    inside = X.eval(text).to_numpy()
    model = PriorSVC(Rule(text, label=label, hard=True), scale="standard").fit(X, y)
    disagree[name] = np.mean(y[inside] != label)
    prices[name] = next(row.price for row in model.report_["rule"] if row.term == "box")
    loss = model.report_["svm"][1].contribution
    share = f"{disagree[name]:.0%} of {inside.sum()} rows disagree"
    print(f"{name:6s} loss {loss:5.1f}, price {prices[name]:.1f}, {share}")

# %% [markdown]
# A high price is a question: which is wrong, the rule or the rows? The rows inside the region say more. A
# soft rule on rows (lesson 5) leaves the decision to new rows.
#
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: prove a conflict
#
# On $f = w\, x + b$ require $f(1200) \ge 1$, $f(600) \le -1$, and that $f$ does not rise: $w \le 0$. Write
# these three as $Az \le c$ with $z = (w, b)$, in this order, and give multipliers `proof` that prove the
# conflict.

# %%
A_own = np.array([[-1200.0, -1.0], [600.0, 1.0], [1.0, 0.0]])
c_own = np.array([-1.0, -1.0, 0.0])

# %% tags=["answer"]
proof = ...  # your answer: three numbers

# %% [markdown] tags=["solution"]
# The second column of $A$ requires $u_1 = u_2$, and the first then $u_3 = 600\, u_1$.

# %% tags=["solution"]
proof = np.array([1.0, 1.0, 600.0])
print("A'u =", A_own.T @ proof, " c'u =", c_own @ proof)

# %% tags=["check"]
assert np.all(np.asarray(proof) >= 0), "The multipliers of a proof are not negative."
assert np.allclose(A_own.T @ proof, 0, atol=1e-9), "The sum of the inequalities still contains w or b."
assert c_own @ proof < 0, "The sum of the inequalities is not a contradiction."

# %% tags=["wrong"]
proof = np.array([1.0, 1.0, 0.0])

# %% [markdown] tags=["exercise"]
# ### Exercise 2: a deletion filter
#
# Write `irreducible(names, fits)`. It returns a list of names in conflict of which none can be spared.
# `fits(names)` returns whether these names fit.


# %% tags=["answer"]
def irreducible(names, fits):
    return ...  # your answer


# %% tags=["solution"]
def irreducible(names, fits):
    left = list(names)
    for name in names:
        rest = [other for other in left if other != name]
        if not fits(rest):
            left = rest
    return left


# %% tags=["check"]
conflicts = [{"b", "d"}, {"a", "c", "e"}]
calls = []


def oracle(names):
    calls.append(names)
    return not any(conflict <= set(names) for conflict in conflicts)


found = irreducible(["a", "b", "c", "d", "e"], oracle)
assert isinstance(found, list), "The function does not return a list of names."
assert set(found) in conflicts, f"{found} is not an irreducible conflict."
assert len(calls) <= 6, "One pass is enough: try each name once."


# %% tags=["wrong"]
def irreducible(names, fits):
    return [name for name in names if fits([other for other in names if other != name])]


# %% [markdown] tags=["exercise"]
# ### Exercise 3: the price of a narrow gap
#
# Tumours up to an area of 950 are benign, and from 1050 on malignant, both hard. The border must climb from
# −1 to 1 in between. Which weight does the area have at least in a linear model? Compute `steepness` for
# the area in its own unit.

# %% tags=["answer"]
steepness = ...  # your answer: a number

# %% [markdown] tags=["solution"]
# From −1 to 1 over 100 units of area: at least 2 / 100. The regulariser grows with the square of that, and
# a gap of 0 is a conflict.

# %% tags=["solution"]
steepness = 2 / 100

# %% tags=["check"]
low = Rule("area <= 950", label="benign", hard=True).named("low")
high = Rule("area >= 1050", label="malignant", hard=True).named("high")
weight = PriorSVC(low + high, scale="standard").fit(X, y).coef_[0, 1]
assert steepness <= weight * 1.001, (
    "The fitted model is less steep. Over how many units of area does f climb?"
)
assert steepness >= weight * 0.999, "This is too small: from -1 at 950, f is still below 1 at 1050."

# %% tags=["wrong"]
steepness = 1 / 100

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The conflict is named, with a place where both rules apply.
assert "'large' ('area >= 1000' is 'malignant') and 'smooth' ('texture <= 20' is 'benign')" in message
assert "Both apply to the point" in message

# Hard rules hold, a soft rule in conflict falls short by 2, and the smaller rule holds.
assert worst["'smooth' is soft"]["large"] > -1e-3
assert worst["'smooth' is soft"]["smooth"] < -1.99
assert worst["'large' is soft"]["large"] < -1.99
assert min(worst["'smooth' is smaller"].values()) > -1e-3

# The multipliers prove the conflict.
np.testing.assert_allclose(A.T @ u / u[0], 0, atol=0.1)
assert np.all(u > 0)
assert c @ u < 0

# Pairs fit, three do not, and the filter finds them.
assert all(well for names, well in together.items() if len(names) == 2)
assert next(names for names, well in together.items() if not well) == ("small", "large", "huge")
assert suspects == ["small", "large", "huge"]
assert bent.verify().holds
assert disagree["true"] < 0.1 < 0.3 < disagree["wrong"]
assert all(value > 1 for value in prices.values())

# %% [markdown]
# **Next** part C, lesson 9: what a row may undergo without a change of its class.
