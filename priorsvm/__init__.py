"""priorsvm: support vector machines with prior knowledge.

Prior knowledge is expressed by blocks. A block adds a penalty and constraints to one convex problem with the
objective ``J_SVM + J_PK``. Public names are imported on first use, so ``import priorsvm`` is fast.
"""

from __future__ import annotations

from importlib import import_module

# Type checkers read __init__.pyi. A test compares both files.

__version__ = "0.1.0"

# Public name -> module that defines it.
_HOME = {
    "PriorSVC": "estimator",
    "Assembly": "assembly",
    "Explanation": "explain.row",
    "Prior": "prior",
    "Knowledge": "knowledge.base",
    "Terms": "knowledge.base",
    "Formulas": "knowledge.base",
    "Building": "knowledge.views",
    "Solved": "knowledge.views",
    "Step": "knowledge.views",
    "Caution": "knowledge.views",
    "Verdict": "knowledge.views",
    "Iterative": "knowledge.traits",
    "OnRowSlack": "knowledge.traits",
    "Scores": "knowledge.traits",
    "AutoWeight": "knowledge.traits",
    "Completes": "knowledge.traits",
    "ClassCosts": "knowledge.rows.class_costs",
    "SampleCosts": "knowledge.rows.sample_costs",
    "UnlabeledSamples": "knowledge.rows.unlabeled_samples",
    "Transductive": "knowledge.rows.transductive",
    "VirtualSamples": "knowledge.rows.virtual_samples",
    "VirtualSupportVectors": "knowledge.rows.virtual_support_vectors",
    "InvarianceHint": "knowledge.hints.invariance_hint",
    "OddnessHint": "knowledge.hints.oddness_hint",
    "MonotonicityHint": "knowledge.hints.monotonicity_hint",
    "Polyhedron": "knowledge.regions.polyhedron",
    "Box": "knowledge.regions.box",
    "Ellipsoid": "knowledge.regions.ellipsoid",
    "Rule": "knowledge.regions.rule",
    "Region": "knowledge.regions.region",
    "Monotone": "knowledge.regions.monotone",
    "UncertainSamples": "knowledge.worst_case.uncertain_samples",
    "MissingValues": "knowledge.worst_case.missing_values",
    "Trajectories": "knowledge.worst_case.trajectories",
    "InvariantLoss": "knowledge.worst_case.invariant_loss",
    "TangentPenalty": "knowledge.hints.tangent_penalty",
    "RowPermutations": "knowledge.rows.row_permutations",
    "Kernel": "kernels.base",
    "Linear": "kernels.standard",
    "Polynomial": "kernels.standard",
    "RBF": "kernels.standard",
    "NegativeDistance": "kernels.standard",
    "Spectral": "kernels.spectrum",
    "HaarIntegration": "kernels.haar",
    "Jitter": "kernels.jitter",
    "TangentDistance": "kernels.tangent_distance",
    "TangentVector": "kernels.tangent_vector",
    "TangentInvariant": "kernels.tangent_invariant",
    "Bhattacharyya": "kernels.bhattacharyya",
    "PrincipalAngles": "kernels.principal_angles",
    "select_kernel": "kernels.select",
    "Transform": "transforms.base",
    "Translation": "transforms.images",
    "Rotation": "transforms.images",
    "Zoom": "transforms.images",
    "Shear": "transforms.images",
    "Elastic": "transforms.images",
    "Reflection": "transforms.images",
    "Shift": "transforms.vectors",
    "FeatureScaling": "transforms.features",
    "FeatureDeletion": "transforms.features",
    "FromFunction": "transforms.vectors",
    "solvers": "solve.registry",
    "save": "io.persist",
    "load": "io.persist",
    "to_onnx": "io.to_onnx",
    "check_knowledge": "testing",
    "play": "playground.widget",
    "load_usps": "datasets",
    "load_mnist": "datasets",
}

# Public module -> its path in the package.
_MODULES = {
    "datasets": "datasets",
    "errors": "errors",
    "kernels": "kernels",
    "knowledge": "knowledge",
    "persist": "io.persist",
    "plot": "plot",
    "testing": "testing",
    "transforms": "transforms",
}

# Name of an earlier version -> what to use instead.
_RENAMED = {"Context": "Use Building in build, and Solved in verify, findings and refine."}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> object:
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"{__name__}.{_MODULES[name]}")
    elif name in _RENAMED:
        # "from priorsvm import" would replace the message of an AttributeError.
        raise ImportError(f"cannot import name {name!r} from 'priorsvm'. {_RENAMED[name]}")
    else:
        raise AttributeError(f"module 'priorsvm' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
