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
# # Which of two million rows does a model need?
#
# A file has more rows than the memory of a laptop. The usual way out is a sample. This lesson fits a linear
# model with knowledge to *all* rows of a file of two million rows. The fit reads the file about five times,
# holds about one row in a hundred in memory, and its answer is exact.
#
# **You learn**
#
# - which rows a hinge model needs one by one, and which only as a sum,
# - why the small problem is a lower bound, and when it is exact,
# - to fit a memory map, and chunks from a function of your own,
# - what a sample would lose.
#
# **You need** lessons 1 and 7
#
# **Time** 20 minutes
#
# **Theorem** Rows replaced by their sum give a lower bound (Jensen), which is exact if no row changes side.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from priorsvm import Box, ClassCosts, Monotone, PriorSVC
from priorsvm.errors import InvalidType

folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "rows.dat")
n, d = 2_000_000, 8
true_weights = np.array([1.0, -0.8, 0.6, 0.4, 0.0, 0.0, -0.3, 0.2])

rng = np.random.default_rng(0)
y = np.empty(n, np.int8)
with path.open("wb") as file:
    for start in range(0, n, 250_000):
        part = rng.standard_normal((250_000, d), dtype=np.float32)
        y[start : start + len(part)] = part @ true_weights + rng.logistic(size=len(part)) > 0.5
        part.tofile(file)
X = np.memmap(path, np.float32, "r", shape=(n, d))
print(f"{path.stat().st_size / 1e6:.0f} MB on disk, {y.mean():.0%} of the rows have class 1")

# %%
# alt: Histogram of 1 - y f of 200 000 rows with a narrow band around 0. Rows left of the band have no loss,
# rows right of it have a linear loss.
first = PriorSVC().fit(X[:5000], y[:5000])
signs = 2.0 * y[:200_000] - 1.0
t = 1 - signs * first.decision_function(X[:200_000])
radius = 0.05

figure, axes = plt.subplots(figsize=(9, 3.4), layout="constrained")
axes.hist(t, 120, range=(-4, 5), color="#0072B2", alpha=0.7)
axes.axvspan(-radius, radius, color="#D55E00", alpha=0.6)
axes.annotate("no loss", (-2.6, 2500), ha="center")
axes.annotate("loss linear in f", (3.2, 2500), ha="center")
axes.annotate("the band", (0, 5600), (1.0, 5800), arrowprops={"arrowstyle": "-"}, color="#D55E00")
axes.set(xlabel="$t = 1 - y f(x)$", ylabel="rows", ylim=(0, 6500), title="200 000 rows and the margin")
plt.show()
print(f"{np.mean(np.abs(t) <= radius):.1%} of the rows are in the band")

# %% [markdown]
# With $t_i = 1 - y_i f(x_i)$ the loss of a row is $\max(t_i, 0)$. Rows with $t_i < 0$ have no loss. Rows
# far on the other side have a loss that is linear in $f$. Only rows near $t_i = 0$ have a kink. So only the
# rows of this **band** have to be kept one by one.
#
# ## Fit the file
#
# A memory map of more than 8 million entries is read in chunks. The blocks are the usual ones: costs of the
# classes, and two columns with a known direction. `memory_limit` is the memory that the fit may use.

# %%
prior = ClassCosts("balanced") + Monotone({0: 1, 1: -1}, hard=True)
model = PriorSVC(prior, memory_limit="500 MB").fit(X, y)
last = model.history_[-1]
print(
    f"{model.solver_}: {last['passes']} passes over {last['rows']} rows, {last['band']} rows in the last band"
)
print(f"objective {model.objective_:.6f}, lower bound {last['lower']:.6f}")
print(f"accuracy {model.score(X, y):.4f}")

# %% [markdown]
# ## The theorem: why the answer is exact
#
# Take a reference $f_0$. Put the rows beyond the band on the wrong side into groups: one group for each
# class. Replace each group by **one row** with the sum of the costs and the mean of the rows. Leave out the
# rows beyond the band on the right side.
#
# **Theorem.** At every $f$, the small problem has at most the objective of the whole problem. Both are equal
# at $f$ if no row beyond the band has changed side.
#
# *Proof.* $\max(t, 0)$ is convex, so Jensen's inequality with the weights $C_i / \sum_j C_j$ gives, for each
# group,
#
# $$\sum_i C_i \max(t_i, 0) \;\ge\; \max\Big(\sum_i C_i t_i,\, 0\Big) .$$
#
# The right-hand side is the loss of the one row, because $t_i$ is affine in $x_i$ for a fixed class. Rows
# that are left out have a loss of at least 0. Regulariser, blocks and band are the same in both problems.
# This is the first claim. If all $t_i$ of a group are positive, both sides are $\sum_i C_i t_i$. If all
# rows that are left out have $t_i \le 0$, their loss is 0. This is the second claim. ∎
#
# **Corollary.** Let $f'$ be optimal for the small problem. If no row beyond the band changed side at $f'$,
# then $f'$ is optimal for the whole problem: its objective equals a lower bound. One more pass over the rows
# finds out. If rows changed side, they join the band, and the small problem is solved again.
#
# The picture shows both losses along a line through $f_0$.

# %%
Z = np.asarray(X[:20_000], float)
s = signs[:20_000]
w0 = first.coef_[0]
direction = np.array([0.5, 0.3, -0.4, 0.2, 0.1, 0.0, 0.0, 0.0])


def excess(w):
    return 1 - s * (Z @ w + first.intercept_[0])


def small_loss(w, width=0.2):
    """Return the loss of the band, and of one row for each class."""
    before = excess(w0)
    now = excess(w)
    band = np.abs(before) <= width
    groups = [(before > width) & (s == sign) for sign in (-1, 1)]
    return np.maximum(now[band], 0).sum() + sum(max(now[rows].sum(), 0) for rows in groups)


line = np.linspace(-1, 1, 41)
whole = np.array([np.maximum(excess(w0 + a * direction), 0).sum() for a in line])
below = np.array([small_loss(w0 + a * direction) for a in line])

# %% tags=["hide-input"]
# alt: Loss along a line, of all rows, and of the band with one row for each class. The second curve is
# nowhere above the first, and they are equal near the middle.
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.plot(line, whole, color="#0072B2", label="all 20 000 rows")
axes.plot(line, below, "--", color="#D55E00", label="the band, and one row for each class")
axes.set(xlabel="position on the line, 0 is $f_0$", ylabel="loss")
axes.legend()
plt.show()

# %% [markdown]
# ## What a sample would lose
#
# A sample of $m$ rows gives weights that differ from the weights of all rows by about $1/\sqrt m$. Ten times
# the accuracy needs a hundred times the rows. The fit of all rows has no such error.

# %%
# alt: Relative error of the weights over the rows of a sample, on logarithmic axes. It falls like one over
# the root of the number of rows.
sizes = np.array([1000, 4000, 16_000])
errors = []
for size in sizes:
    found = []
    for seed in range(4):
        rows = np.sort(np.random.default_rng(seed).integers(n, size=size))
        sampled = PriorSVC(prior).fit(X[rows], y[rows])
        found.append(np.linalg.norm(sampled.coef_ - model.coef_) / np.linalg.norm(model.coef_))
    errors.append(np.mean(found))

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.loglog(sizes, errors, "o-", color="#0072B2", label="samples")
axes.loglog(sizes, errors[0] * np.sqrt(sizes[0] / sizes), "--", color="0.4", label=r"$1/\sqrt{m}$")
axes.set(xlabel="rows m of the sample", ylabel="relative error of the weights")
axes.legend()
plt.show()

# %% [markdown]
# ## Chunks of your own
#
# Any function that returns an iterator of chunks is a source of rows: a database, many files, a computation.
# It is called once for each pass. Here it leaves out the last part of the file, which is then new to the
# model.


# %%
def training():
    for start in range(0, 1_600_000, 200_000):
        yield X[start : start + 200_000], y[start : start + 200_000]


def test():
    for start in range(1_600_000, n, 200_000):
        yield X[start : start + 200_000], y[start : start + 200_000]


rule = Box({2: (2.0, None), 3: (1.0, None)}, 1, mu=50.0, holds="everywhere", within="data").named("rule")
from_chunks = PriorSVC(prior + rule).fit(training)
accuracy = from_chunks.score(test)
print(f"accuracy on {n - 1_600_000} new rows: {accuracy:.4f}")
print(from_chunks.report_)

# %% [markdown]
# ## Exercises

# %% [markdown] tags=["exercise"]
# ### Exercise 1: one row for a group
#
# Write `one_row(C, t)`: the loss of the one row that replaces a group with the costs `C` and the values `t`.
# Then give three values `tight`, not all equal, for which the inequality of the theorem is an equality with
# `C = [1, 1, 1]`.


# %% tags=["answer"]
def one_row(C, t):
    """Return the loss of the row that replaces a group."""
    return ...  # your answer


tight = ...  # your answer: three numbers


# %% tags=["solution"]
def one_row(C, t):
    """Return the loss of the row that replaces a group."""
    return max(np.dot(C, t), 0.0)


tight = [0.5, 1.0, 2.0]

# %% [markdown] tags=["solution"]
# Any three values of one sign will do. With different signs a negative value cancels a part of the loss.

# %% tags=["check"]
random = np.random.default_rng(0)
for _ in range(50):
    costs = random.uniform(0.1, 2, 6)
    values = random.normal(0.3, 1, 6)
    assert one_row(costs, values) is not ..., "Return a number."
    assert one_row(costs, values) <= costs @ np.maximum(values, 0) + 1e-12, (
        "This is larger than the loss of the rows."
    )
    assert np.isclose(one_row(costs, np.abs(values)), costs @ np.abs(values)), "With one sign both are equal."
assert one_row([1, 1], [-1, -2]) == 0, "A loss is not negative."
assert len(tight) == 3, "Give three values."
assert len(set(tight)) > 1, "The values are not all equal."
assert np.isclose(one_row([1, 1, 1], tight), np.maximum(tight, 0).sum()), "Which signs may the values have?"


# %% tags=["wrong"]
def one_row(C, t):
    return np.dot(C, np.maximum(t, 0))


tight = [-1.0, 0.5, 2.0, 3.0]


# %% tags=["wrong"]
def one_row(C, t):
    return max(np.dot(C, t), 0.0)


tight = [-1.0, 0.5, 2.0]

# %% [markdown] tags=["exercise"]
# ### Exercise 2: rows in an unlucky order
#
# Give a source `by_class` with the first 400 000 rows in chunks, first all rows of class 0, then all rows of
# class 1. Do the weights depend on the order?

# %% tags=["answer"]
by_class = ...  # your answer: something that fit can read several times


# %% tags=["solution"]
def by_class():
    for label in (0, 1):
        for start in range(0, 400_000, 100_000):
            part = slice(start, start + 100_000)
            chosen = y[part] == label
            yield X[part][chosen], y[part][chosen]


# %% [markdown] tags=["solution"]
# They do not, because sums do not depend on the order of the rows. A generator can be read once, and a fit
# reads its rows several times. So `fit` accepts the function, and refuses the generator `by_class()`.

# %% tags=["check"]
assert callable(by_class), "A generator can be read only once. Give the function, and not its result."
chunks = list(by_class())
labels = np.concatenate([part for _, part in chunks])
assert len(labels) == 400_000, "The source has the first 400 000 rows."
assert np.all(np.diff(labels.astype(int)) >= 0), "All rows of class 0 come first."
ordered = PriorSVC(prior).fit(by_class)
mixed = PriorSVC(prior).fit([(X[:400_000], y[:400_000])])
change = np.abs(ordered.coef_ - mixed.coef_).max()
assert change < 1e-5, "Rows and classes do not belong together, or rows are missing."
print(f"largest difference of the weights: {change:.1e}")

# %% tags=["wrong"]
by_class = ((X[:400_000][y[:400_000] == label], y[:400_000][y[:400_000] == label]) for label in (0, 1))


# %% tags=["wrong"]
def by_class():
    yield X[:400_000], y[:400_000]


# %% [markdown] tags=["exercise"]
# ### Exercise 3: how large a sample?
#
# Use the largest sample of the picture, `sizes[-1]` rows with the error `errors[-1]`, and the law
# $1/\sqrt m$. How many rows does a sample need for a relative error of 0.001?

# %% tags=["answer"]
rows_needed = ...  # your answer: a number

# %% tags=["solution"]
rows_needed = sizes[-1] * (errors[-1] / 0.001) ** 2
print(f"{rows_needed:.0f} rows")

# %% [markdown] tags=["solution"]
# This is more than the file has. The fit of all rows has no error of a sample.

# %% tags=["check"]
constant = errors[-1] * np.sqrt(sizes[-1])
assert rows_needed > sizes[-1], "A smaller error needs more rows."
assert np.isclose(constant / np.sqrt(rows_needed), 0.001, rtol=0.05), "The error falls with the square root."

# %% tags=["wrong"]
rows_needed = sizes[-1] * errors[-1] / 0.001

# %% [markdown]
# ## What this lesson claims, checked

# %% tags=["claims"]
# The claims of this lesson.
assert np.mean(np.abs(t) <= radius) < 0.05
assert last["passes"] <= 6
assert last["band"] < 0.02 * n
assert model.objective_ - last["lower"] <= 1e-6 * model.objective_

# The directions hold, and samples lose what they should.
assert model.coef_[0, 0] >= 0 >= model.coef_[0, 1]
assert errors[0] > 2 * errors[-1]

# The small problem is below the whole one, and equal at the reference.
assert np.all(below <= whole + 1e-6)
assert abs(below[20] - whole[20]) < 1e-6
assert accuracy > 0.7

# A generator is refused.
try:
    PriorSVC().fit(training())
    refused = ""
except InvalidType as error:
    refused = str(error)
assert "can be read once" in refused
folder.cleanup()
print("all claims hold")

# %% [markdown]
# **Next** you have reached the end of the course. The guide has a page on large data, and lesson 1 is a good
# place to begin again with a table of your own.
