"""SCHUR: an interior-point method that distinguishes shared from private variables.

Blocks of knowledge add many small cones. Each cone contains the few variables that all cones share, and one
or two private ones. The modules, in the order in which a problem passes through them:

``definitions``  values of f, substituted for the variables that they define.
``presolve``     elimination of the equations, so that inequalities and cones remain.
``mixed``        sparse matrices with a dense block.
``groups``       shared and private variables, and groups of cones.
``partition``    A with shared variables first, in dense and sparse parts, and its scaling.
``cones``        Nesterov-Todd scaling, step lengths and products, for all cones of a size at once.
``newton``       KKT system: elimination of private variables by reflections, and factorisation of the rest.
``method``       predictor-corrector steps and certificates.
``interface``    solver class for CVXPY.

The package imports nothing of the library.
"""
