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
# # How does a rule hold everywhere?
#
# "A glucose of 126 or more and a bmi of 30 or more means ill." This rule is about a part of the space, also
# where there is no row of data. The problem of an SVM contains rows only. What makes the rule hold at
# *infinitely many* points?
#
# **You learn**
#
# - to require a rule at every point of its region, and to verify it;
# - how linear duality turns infinitely many constraints into a few;
# - what a soft rule everywhere costs, and from which weight on it holds.
#
# **You need** lesson 1.
#
# **Time** 20 minutes
#
# **Theorem** Linear duality: $w^\mathsf{T} x + b \ge 1$ holds on a polyhedron if and only if finitely many
# multipliers prove it.

# %%
import warnings

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display

from priorsvm import Box, Polyhedron, PriorSVC, Rule, plot
from priorsvm.errors import AgainstData, ZeroedColumns

# Some rules below contradict rows on purpose, or set weights to 0.
for category in (AgainstData, ZeroedColumns):
    warnings.simplefilter("ignore", category)

rng = np.random.default_rng(3)
columns = {"glucose": rng.normal(108, 13, 140).clip(75, 140), "bmi": rng.normal(26.5, 3.5, 140).clip(18, 36)}
people = pd.DataFrame(columns)
risk = (people["glucose"] - 108) / 13 + (people["bmi"] - 26.5) / 3.5 + rng.normal(0, 0.6, 140)
here = ~((people["glucose"] >= 115) & (people["bmi"] >= 27))
X = people[here].reset_index(drop=True)
y = np.where(risk[here] > 0.3, "ill", "healthy")
y[(X["bmi"] >= 29).to_numpy()] = "healthy"
sign = np.where(y == "ill", 1.0, -1.0)

# %% [markdown]
# ## A table with a hole
#
# The table is drawn at random, from a screening. People with a high glucose *and* a high bmi are missing: a
# doctor sees them already. And some heavy people have a wrong label. `within` limits the region: a rule
# leaves sides open, and "126 or more" should not mean a million.

# %%
# alt: Two panels over glucose and bmi. Without the rule the border cuts through the region of the rule. With
# the rule the region is behind the margin, and a plus marks its closest corner.
rule = Rule(
    "glucose >= 126 and bmi >= 30", label="ill", hard=True, within={"glucose": (None, 140), "bmi": (None, 36)}
)
models = {
    "without the rule": PriorSVC(scale="standard").fit(X, y),
    "with the rule": PriorSVC(rule, scale="standard").fit(X, y),
}
plot.compare(models, extent=(70, 145, 17, 40))
plt.show()

# %% [markdown]
# The hatched region contains no row, and with the rule all of it is beyond the dashed line $f = 1$. Is this
# so everywhere, or only where we look? `verify` reports it.

# %%
display(models["with the rule"].verify())

# %% [markdown]
# *Proven* means every point of the region, not some tried points. The column *worst* is $f - 1$ at the
# worst point.
#
# ## The theorem
#
# **Claim.** Let the polyhedron $\{x : Bx \le d\}$ have a point. Then $w^\mathsf{T} x + b \ge 1$ at all of
# its points if and only if there is a vector $u \ge 0$ with
#
# $$B^\mathsf{T} u + w = 0, \qquad b - d^\mathsf{T} u \ge 1 .$$
#
# **Proof.** If there is such a $u$, then $w^\mathsf{T} x = -u^\mathsf{T} B x \ge -u^\mathsf{T} d$ for each
# $x$ of the polyhedron, so $w^\mathsf{T} x + b \ge b - d^\mathsf{T} u \ge 1$. Conversely, the least value
# of $w^\mathsf{T} x$ on the polyhedron is a linear programme with a finite value. By strong duality of
# linear programmes the value is $\max_u \{ -d^\mathsf{T} u : B^\mathsf{T} u + w = 0,\, u \ge 0 \}$, and a
# maximal $u$ satisfies both conditions. Strong duality follows from Farkas' lemma (lesson 8). ∎
#
# A *minimum* that has to be at least 1 is hard to write as a constraint. A *maximum* that has to be at
# least 1 is not: one $u$ is enough. So CVXPY gets one more variable and $d + 1$ more rows, in place of
# infinitely many.
#
# ## By hand
#
# Here is the SVM with a triangle, `glucose + 5 bmi >= 280`. The columns are standardised as in
# `scale="standard"`.

# %%
B = np.array([[-1.0, -5.0], [1.0, 0.0], [0.0, 1.0]])
d = np.array([-280.0, 140.0, 36.0])
corners = np.array([[140.0, 28.0], [140.0, 36.0], [100.0, 36.0]])
shift, width = X.mean().to_numpy(), X.std(ddof=0).to_numpy()

C, n = 1.0, len(X)
w, b, xi = cp.Variable(2), cp.Variable(), cp.Variable(n, nonneg=True)
u = cp.Variable(3, nonneg=True)
margin = cp.multiply(sign, (X.to_numpy() - shift) / width @ w + b) >= 1 - xi
proof = [(B * width).T @ u + w == 0, b - (d - B @ shift) @ u >= 1]
cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(xi)), [margin, *proof]).solve(solver="CLARABEL")
w_by_hand = w.value / width
b_by_hand = float(b.value - shift @ w_by_hand)

block = PriorSVC(Polyhedron(B, d, label="ill", hard=True), C=C, scale="standard").fit(X, y)
print("by hand:    w =", w_by_hand.round(5), " b =", round(b_by_hand, 4))
print("Polyhedron: w =", block.coef_[0].round(5), " b =", block.intercept_[0].round(4))

# %%
# alt: A triangular region of class ill above the rows. The margin touches the triangle at its left corner,
# which a plus marks.
plot.decision(block, extent=(70, 145, 17, 40))
plt.show()
print(
    "f at the corners:", (corners @ w_by_hand + b_by_hand).round(4), " u =", np.maximum(u.value, 0).round(4)
)

# %% [markdown]
# Verified: $f = 1$ at the worst corner. $u$ is positive for sides that meet there, so $u$ names the sides
# that matter.
#
# ## A box needs no multipliers
#
# A box has a centre $c$ and half-widths $r$. From the centre go to the bad end in each column: the least
# value is $w^\mathsf{T} c - r^\mathsf{T} |w|$. `Box` and rules about single columns use this formula.

# %%
sides = {"glucose": (126, 140), "bmi": (30, 36)}
B_box, d_box = np.vstack([np.eye(2), -np.eye(2)]), np.array([140.0, 36.0, -126.0, -30.0])
as_box = PriorSVC(Box(sides, label="ill", hard=True), scale="standard").fit(X, y)
as_polyhedron = PriorSVC(Polyhedron(B_box, d_box, label="ill", hard=True), scale="standard").fit(X, y)
print("box:       ", as_box.coef_[0].round(6), "\npolyhedron:", as_polyhedron.coef_[0].round(6))

# %% [markdown]
# ## A soft rule everywhere
#
# A soft rule may be violated. With `holds="everywhere"` it adds $C \mu\, \zeta$, where $\zeta$ is the worst
# shortfall in the region. The path in $\mu$ (lesson 4) shows when it holds.

# %%
soft = Rule(rule.text, label="ill", holds="everywhere", within=rule.within).named("soft")
mu = np.linspace(0.0, 1.5, 31)
path = PriorSVC(soft, scale="standard").fit_path(X, y, {"soft__mu": mu})
shortfall = np.array([max(0.0, -model.verify()["soft"].worst) for model in path])

# %% tags=["hide-input"]
# alt: The worst shortfall of the soft rule over its weight falls in steps and is zero from a certain weight
# on.
figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
axes.plot(mu, shortfall, "o-", color="black", markersize=4)
axes.set(xlabel=r"$\mu$", ylabel=r"worst shortfall $\zeta$", title="From some weight on the soft rule holds")
plt.show()

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: the price of a rule
#
# `hard_price` is the dual variable of the hard rule. From which $\mu$ on does the soft rule hold? Compute
# `enough`.

# %%
hard_price = next(row.price for row in models["with the rule"].report_["rule"] if row.term == "box")

# %% tags=["answer"]
enough = ...  # your answer: a number

# %% [markdown] tags=["solution"]
# The soft rule has the slack $\zeta$ with the cost $C \mu$. By lesson 2 its price is at most $C \mu$. The
# hard rule is the solution of the soft problem if its price is within this limit.

# %% tags=["solution"]
enough = hard_price / C
print(f"{enough:.3f}")

# %% tags=["check"]
more, less = PriorSVC(soft, scale="standard").fit_path(X, y, {"soft__mu": [1.05 * enough, 0.9 * enough]})
assert more.verify()["soft"].worst > -1e-3, "With this weight the soft rule is violated."
assert less.verify()["soft"].worst < -1e-3, "A smaller weight is enough. How large may a price be?"

# %% tags=["wrong"]
enough = 2 * hard_price

# %% [markdown] tags=["exercise"]
# ### Exercise 2: prove an inequality
#
# Let $f(x) = 0.05\, x_1 + 0.2\, x_2 - 12$. Find multipliers `proof_u` $\ge 0$ that prove the largest lower
# bound of $f$ on the triangle $Bx \le d$. At which corner is $f$ smallest, and which sides meet there?

# %%
w_given, b_given = np.array([0.05, 0.2]), -12.0

# %% tags=["answer"]
proof_u = ...  # your answer: three numbers

# %% [markdown] tags=["solution"]
# $f$ is smallest at the corner (100, 36), where the first and the third side meet. With $u_2 = 0$ the
# conditions are $-u_1 = -0.05$ and $-5 u_1 + u_3 = -0.2$, so $u_1 = u_3 = 0.05$. The sides at (140, 28)
# give a negative number, so they prove nothing.

# %% tags=["solution"]
proof_u = np.array([0.05, 0.0, 0.05])
print("f is at least", b_given - d @ proof_u)

# %% tags=["check"]
assert np.all(np.asarray(proof_u) >= -1e-9), "Multipliers are not negative."
assert np.allclose(B.T @ proof_u + w_given, 0, atol=1e-6), "B^T u + w is not 0."
assert b_given - d @ proof_u >= 0.2 - 1e-6, "These multipliers prove a smaller bound."
assert b_given - d @ proof_u <= np.min(corners @ w_given + b_given) + 1e-6, "The bound exceeds f at a corner."

# %% tags=["wrong"]
proof_u = np.array([0.04, -0.01, 0.0])

# %% [markdown] tags=["exercise"]
# ### Exercise 3: a rule about one column
#
# The rule below limits the glucose only, and its region has *no end* in the bmi: `within=None`. Which
# weight does the bmi have in a linear model that keeps this rule? Give `weight_bmi` before you fit.

# %%
endless = Rule("glucose >= 126", label="ill", hard=True, within=None)

# %% tags=["answer"]
weight_bmi = ...  # your answer: a number

# %% [markdown] tags=["solution"]
# It is 0. With any other weight $f$ falls below 1 at some bmi, because the region has no end. The
# multipliers say the same: $B$ has no entry for the bmi, so $B^\mathsf{T} u + w = 0$ requires $w_2 = 0$.

# %% tags=["solution"]
weight_bmi = 0.0

# %% tags=["check"]
literal = PriorSVC(endless, scale="standard").fit(X, y)
assert abs(literal.coef_[0, 1] - weight_bmi) < 1e-6, (
    "The fitted model has another weight. Where is f smallest?"
)

# %% tags=["wrong"]
weight_bmi = models["without the rule"].coef_[0, 1]

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The rule holds everywhere, by proof; without the rule it does not.
box_corners = pd.DataFrame([[126, 30], [126, 36], [140, 30], [140, 36]], columns=X.columns)
assert models["without the rule"].decision_function(box_corners).min() < 0.95
assert models["with the rule"].decision_function(box_corners).min() > 1 - 1e-3
assert models["with the rule"].verify()["rule"].holds
assert models["with the rule"].verify()["rule"].proven
assert not X.eval("glucose >= 126 and bmi >= 30").any()

# By hand and by the block; a box is a polyhedron.
np.testing.assert_allclose(block.coef_[0], w_by_hand, atol=1e-5)
np.testing.assert_allclose(block.intercept_[0], b_by_hand, atol=1e-3)
np.testing.assert_allclose(np.min(corners @ w_by_hand) + b_by_hand, 1.0, atol=1e-4)
np.testing.assert_allclose(as_box.coef_, as_polyhedron.coef_, atol=1e-5)
np.testing.assert_allclose(B.T @ u.value + w_by_hand, 0, atol=1e-5)

# The shortfall never grows with the weight, and vanishes.
assert np.diff(shortfall).max() < 1e-3
assert shortfall[0] > 0.1
assert shortfall[-1] < 1e-3

# %% [markdown]
# **Next** lesson 7: the same rule on a model that bends.
