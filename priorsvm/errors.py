"""Errors and warnings of the library.

Every message names the block or argument and the value, and suggests what to do. All errors derive from
:class:`PriorSVMError` and from a built-in exception. All warnings derive from :class:`PriorSVMWarning`.
"""

from __future__ import annotations


class PriorSVMError(Exception):
    """Base of all errors of the library. Catch it to handle all of them."""


class InvalidInput(PriorSVMError, ValueError):
    """Argument with an invalid value.

    Raised by ``fit`` and by functions that receive the argument. Use a value that the message allows.
    """


class InvalidType(PriorSVMError, TypeError):
    """Argument of a wrong type.

    Raised, for example, for a class in place of an object. Use a type that the message allows.
    """


class BadRule(InvalidInput):
    """Rule text that cannot be parsed, or that no row can satisfy.

    Raised by ``fit``. Correct the text at the position that the message marks.
    """


class NameClash(InvalidInput):
    """Name that two blocks of one sum have.

    Raised by ``+`` and by ``fit``. Rename a block with ``block.named("...")``.
    """


class UnknownParameter(PriorSVMError, TypeError):
    """Keyword that is not a parameter of any block.

    Raised by ``fit`` and ``fit_path``. Use a name that the message lists.
    """


class MissingCapability(PriorSVMError, TypeError):
    """Property of the decision function that this kind of model does not have.

    Raised if a block or a user requires it, such as ``coef_`` of a kernel model. Use a kernel or a norm that
    the message lists.
    """


class KernelNotPSD(InvalidInput):
    """Kernel that is not positive semidefinite, in a model with ``norm="l2"``.

    Raised by ``fit``. Use ``norm="l1"``, another kernel, or ``psd="clip"`` if the kernel has this parameter.
    """


class TooLarge(PriorSVMError, MemoryError):
    """Matrix that does not fit in memory.

    Raised before the matrix is allocated. Use fewer rows or ``n_centres``.
    """


class DataNotFound(PriorSVMError, FileNotFoundError):
    """Data set that is neither on this computer nor available for download.

    Raised by the functions ``load_...``. Set ``PRIORSVM_DATA`` to a folder that contains the data set.
    """


class BadFile(InvalidInput):
    """File that is not a saved model, is damaged, or contains types that are not trusted.

    Raised by ``load``. No code in the file is run. Save the model again, or name your types in ``trusted``.
    """


class SkopsNotInstalled(PriorSVMError, ImportError):
    """Missing package skops.

    Raised by ``save`` and ``load``. Install it with ``pip install skops``.
    """


class PackageNotInstalled(PriorSVMError, ImportError):
    """Missing package for rows that are read in chunks, for ``to_onnx``, or for the playground in a notebook.

    The message names the package. ``pip install ".[large]"``, ``".[onnx]"`` or ``".[play]"`` in a clone of
    priorsvm installs it.
    """


class SolverNotInstalled(PriorSVMError, ImportError):
    """Missing package of the solver in ``PriorSVC(solver=...)``.

    Raised by ``fit``. Install the package that the message names, or use ``solver="auto"``.
    """


class SolverUnsuited(InvalidInput):
    """Solver that cannot solve this class of problem.

    Raised by ``fit``. Use a solver that the message lists, or ``solver="auto"``.
    """


class SolverFailed(PriorSVMError, RuntimeError):
    """Solver without a solution, or with a solution whose residuals are too large.

    Raised by ``fit``. Use ``scale="standard"``, another solver, or a smaller ``C``.
    """


class Infeasible(PriorSVMError, RuntimeError):
    """Hard constraints that no decision function satisfies.

    Raised by ``fit``. Soften or remove one of the blocks that the message names.
    """


class CoverTooCoarse(PriorSVMError, RuntimeError):
    """Cover of a region whose cells are too large for ``method="guaranteed"``.

    Raised by ``fit``. The blocks need not contradict each other. Raise ``max_cells``, shrink the region, or
    use ``method="cuts"`` or ``hard=False``.
    """


class OutOfTime(PriorSVMError, TimeoutError):
    """Fit without an answer when ``max_seconds`` have passed.

    Raised by ``fit``. Raise ``max_seconds``, or use fewer rows or a simpler block.
    """


class Unbounded(PriorSVMError, RuntimeError):
    """Objective without a lower bound.

    Raised by ``fit`` if a penalty of your own block is negative. Make the penalty nonnegative.
    """


class NotFitted(PriorSVMError, AttributeError):
    """Attribute or method that requires a fitted model.

    Raised before ``fit`` was called. Call ``fit`` first.
    """


class PriorSVMWarning(UserWarning):
    """Base of all warnings of the library. Filter it to handle all of them."""


class InaccurateSolution(PriorSVMWarning):
    """Solution whose residuals exceed the tolerance of the solver.

    Issued by ``fit``. The model can be used. Use ``scale="standard"``, a larger ``tol`` or another solver.
    """


class CollapsedModel(PriorSVMWarning):
    """Decision function that is constant, or nearly constant.

    Issued by ``fit`` if a block or a rare class leads to a constant. Soften the block or use another kernel.
    """


class UnsoundMethod(PriorSVMWarning):
    """Method from the literature without the guarantee that its constraints suggest.

    Issued by ``fit``. Check the model with ``verify()``, or use ``method="cuts"`` or ``method="guaranteed"``.
    """


class FarFromData(PriorSVMWarning):
    """Region with a threshold so far from the data that its units may be wrong.

    Issued by ``fit``. Compare the units of the region with the units of ``X``. The message lists factors
    between units that fit.
    """


class AgainstData(PriorSVMWarning):
    """Region whose training rows are of another class more often than all rows are.

    A region that contains all rows of all classes is against the data, too.

    Issued by ``fit``. Check the label and the units of the region.
    """


class DirectionAgainstData(PriorSVMWarning):
    """Direction of a monotone feature that the classes of the training rows contradict.

    Issued by ``fit``. Check the sign of the feature and the label.
    """


class OppositeRules(PriorSVMWarning):
    """Two soft blocks that assign common training rows to different classes.

    Issued by ``fit``. Narrow one of the regions, or compare the weights of the blocks.
    """


class Outbid(PriorSVMWarning):
    """Soft block that the fitted model violates at most of its places.

    Issued by ``fit``. Raise the weight of the block, or remove the block. On rows the places are the rows
    that the block adds, and ``verify()`` counts the training rows inside instead.
    """


class SwitchedOff(PriorSVMWarning):
    """Soft blocks for which ``mu="auto"`` chose the weight 0.

    Issued by ``fit``. Check the rules against the rows, or give a number as ``mu`` to overrule.
    """


class ZeroedColumns(PriorSVMWarning):
    """Block that sets weights to 0 which a model without blocks uses.

    Issued by ``fit`` for linear models. Use ``holds="rows"`` for a rule, or a lower ``confidence``.
    """


class NotKept(PriorSVMWarning):
    """Hard block that the fitted model violates.

    Issued by ``fit``. Use ``method="guaranteed"``, more ``max_rounds``, or a smaller region.
    """


class UnknownCategory(PriorSVMWarning):
    """Value of a column with categories that no training row has.

    Issued by ``predict`` and by blocks with further rows. The value is encoded as zeros. Check its spelling,
    or list it in a column of dtype category before ``fit``.
    """


class CoarsePolynomial(PriorSVMWarning):
    """Polynomial that differs from the decision function along a trajectory.

    Issued by ``fit``. Use a higher ``degree``, a narrower span, or ``InvariantLoss``.
    """


class Recompiled(PriorSVMWarning):
    """Problem of ``fit_path`` that was compiled again, because more than weights changed.

    Issued by ``fit_path``. The result is correct; only the time is longer.
    """


class OtherVersion(PriorSVMWarning):
    """Saved model of another version of priorsvm.

    Issued by ``load``. Compare predictions of the loaded model with known ones, or fit and save it again.
    """
