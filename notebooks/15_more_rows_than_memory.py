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
# model with knowledge to *all* rows of a file of two million rows. It reads the file about five times,
# holds a few thousand rows in memory, and its answer is exact.
#
# The reason is in the picture below. With $t_i = 1 - y_i f(x_i)$ the loss of a row is $\max(t_i, 0)$. Rows
# with $t_i < 0$ have no loss. Rows far on the other side have a loss that is linear in $f$. Only rows near
# $t_i = 0$, the margin, have a kink, and only these rows have to be kept one by one.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from priorsvm import Box, ClassCosts, Monotone, PriorSVC
from priorsvm.errors import InvalidType

BLUE, RED, GREY = "#0072B2", "#D55E00", "0.4"

folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "rows.dat")
n, d = 2_000_000, 8
weights = np.array([1.0, -0.8, 0.6, 0.4, 0.0, 0.0, -0.3, 0.2])

rng = np.random.default_rng(0)
y = np.empty(n, np.int8)
with path.open("wb") as file:
    for start in range(0, n, 250_000):
        part = rng.standard_normal((250_000, d), dtype=np.float32)
        y[start : start + len(part)] = part @ weights + rng.logistic(size=len(part)) > 0.5
        part.tofile(file)
X = np.memmap(path, np.float32, "r", shape=(n, d))
print(f"{path.stat().st_size / 1e6:.0f} MB on disk, {y.mean():.0%} of the rows have class 1")

# %%
first = PriorSVC().fit(X[:5000], y[:5000])
signs = 2.0 * y[:200_000] - 1.0
t = 1 - signs * first.decision_function(X[:200_000])
radius = 0.05

figure, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
axes.hist(t, 120, range=(-4, 5), color=BLUE, alpha=0.7)
axes.axvspan(-radius, radius, color=RED, alpha=0.6)
axes.annotate("no loss", (-2.6, 4500), ha="center")
axes.annotate("loss linear in f", (3.0, 4500), ha="center")
axes.annotate("the band", (0, 8200), (1.2, 8600), arrowprops={"arrowstyle": "-"}, color=RED)
axes.set(xlabel="$t = 1 - y f(x)$", ylabel="rows", title="200 000 rows, by their distance from the margin")
plt.show()
print(f"{np.mean(np.abs(t) <= radius):.1%} of the rows are in the band")

# %% [markdown]
# ## Fit the file
#
# A memory map of more than 8 million entries is read in chunks. The blocks are the usual blocks: costs of
# the classes, and two columns with a known direction. `memory_limit` is the memory that the fit may take.

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
# ## What a sample would lose
#
# A sample of $m$ rows gives weights that differ from the weights of all rows by about $1/\sqrt m$. So ten
# times the accuracy needs a hundred times the rows. The fit of all rows has no such error.

# %%
sizes = [1000, 4000, 16_000]
errors = []
for size in sizes:
    found = []
    for seed in range(4):
        rows = np.sort(np.random.default_rng(seed).integers(n, size=size))
        sampled = PriorSVC(prior).fit(X[rows], y[rows])
        found.append(np.linalg.norm(sampled.coef_ - model.coef_) / np.linalg.norm(model.coef_))
    errors.append(np.mean(found))

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.loglog(sizes, errors, "o-", color=BLUE, label="samples")
axes.loglog(sizes, errors[0] * np.sqrt(sizes[0] / np.array(sizes)), "--", color=GREY, label=r"$1/\sqrt{m}$")
axes.set(xlabel="rows m of the sample", ylabel="relative error of the weights")
axes.legend()
plt.show()

# %% [markdown]
# ## Why the answer is exact
#
# Take a reference $f_0$ and a radius. Rows beyond the band on the wrong side become **one row for each
# class**, with the sum of their costs and their mean. For any numbers, the sum of the maxima is at least
# the maximum of the sum:
#
# $$\sum_i C_i \max(t_i, 0) \;\ge\; \max\Big(\sum_i C_i t_i,\, 0\Big).$$
#
# So the smaller problem never has a larger objective than the whole problem, at *any* $f$. Its optimum is a
# lower bound. At its solution one more pass looks for rows that changed side. If there are none, both
# objectives are equal there, and the lower bound is reached. The picture shows both losses along a line
# from $f_0$.

# %%
Z = np.asarray(X[:20_000], float)
s = signs[:20_000]
w0 = first.coef_[0]
step = np.array([0.5, 0.3, -0.4, 0.2, 0.1, 0.0, 0.0, 0.0])


def excess(w):
    return 1 - s * (Z @ w + first.intercept_[0])


def smaller(w, width=0.2):
    """Return the loss of the band, and of one row for each class."""
    before = excess(w0)
    near = np.abs(before) <= width
    far = [(before > width) & (s == sign) for sign in (-1, 1)]
    now = excess(w)
    return np.maximum(now[near], 0).sum() + sum(max(now[rows].sum(), 0) for rows in far)


line = np.linspace(-1, 1, 41)
whole = np.array([np.maximum(excess(w0 + a * step), 0).sum() for a in line])
below = np.array([smaller(w0 + a * step) for a in line])

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.plot(line, whole, color=BLUE, label="all 20 000 rows")
axes.plot(line, below, "--", color=RED, label="the band, and one row for each class")
axes.set(xlabel="position on the line, 0 is $f_0$", ylabel="loss")
axes.legend()
plt.show()

# %% [markdown]
# ## Chunks of your own
#
# Any function that returns an iterator of chunks is a source of rows: a database, many files, a
# computation. It is called once for each pass. Here it leaves out the last part of the file, which is then
# new to the model.


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
#
# 1. Sort the rows by their class, so that every chunk but one has a single class. Do the weights change?
# 2. Give `fit` the generator `training()` instead of the function. What happens, and why?
#
# ## Solutions
#
# **1.** They do not. Sums do not depend on the order of the rows, and the drawn rows of each class come
# from all chunks.


# %%
def in_order():
    for label in (0, 1):
        for start in range(0, 400_000, 100_000):
            part = slice(start, start + 100_000)
            chosen = y[part] == label
            yield X[part][chosen], y[part][chosen]


ordered = PriorSVC(prior).fit(in_order)
mixed = PriorSVC(prior).fit([(X[:400_000], y[:400_000])])
print(f"largest difference of the weights: {np.abs(ordered.coef_ - mixed.coef_).max():.1e}")

# %% [markdown]
# **2.** A generator can be read once, and a fit reads its rows several times. So it is refused at once.

# %%
try:
    PriorSVC().fit(training())
except InvalidType as error:
    message = str(error)
    print(message)
folder.cleanup()

# %% [markdown]
# ## What this lesson claims, checked

# %%
# Few rows are near the margin, and the fit of the file is exact.
assert np.mean(np.abs(t) <= radius) < 0.05
assert last["passes"] <= 6
assert last["band"] < 0.02 * n
assert model.objective_ - last["lower"] <= 1e-6 * model.objective_

# The directions hold, and samples lose what they should.
assert model.coef_[0, 0] >= 0 >= model.coef_[0, 1]
assert errors[0] > 2 * errors[-1]

# The smaller problem is below the whole one, and equal at the reference.
assert np.all(below <= whole + 1e-6)
assert abs(below[20] - whole[20]) < 1e-6

# New rows, and the exercises.
assert accuracy > 0.7
assert np.abs(ordered.coef_ - mixed.coef_).max() < 1e-5
assert "can be read once" in message
print("all claims hold")
