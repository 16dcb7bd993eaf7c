"""SCHUR: an interior-point method that sees which variables are shared and which are private.

Every block adds many small cones, each of which touches the few variables all of them share, and one or two
of its own. Files, in the order in which a problem passes through them:

``defined``   the values of f, put in place of the variables they define.
``presolve``  equations are solved for, so that inequalities and cones are left.
``mixed``     a matrix that is sparse but for a dense block.
``groups``    finds shared and private variables, and which cones belong together.
``parted``    A with shared variables first, in dense and sparse parts; scales them.
``cones``     the scaling of Nesterov and Todd, step lengths, products, for all cones of a size at once.
``newton``    eliminates private variables by reflections, and factors the rest.
``method``    predictor, corrector, certificates.
``interface`` the name under which CVXPY finds it.
"""
