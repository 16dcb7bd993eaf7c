r"""LaTeX formulas in plain text, for a terminal."""

from __future__ import annotations

import re
from functools import partial

SYMBOLS = {
    "xi": "ξ", "zeta": "ζ", "rho": "ρ", "mu": "μ", "gamma": "γ", "theta": "θ", "varphi": "φ", "phi": "φ",
    "sigma": "σ", "lambda": "λ", "alpha": "α", "beta": "β", "eta": "η", "nu": "ν", "pi": "π", "tau": "τ",
    "epsilon": "ε", "varepsilon": "ε", "delta": "δ", "Delta": "Δ", "omega": "ω", "psi": "ψ", "kappa": "κ",
    "Sigma": "Σ", "Omega": "Ω", "nabla": "∇", "partial": "∂", "sum": "Σ", "prod": "∏", "int": "∫",
    "ge": "≥", "geq": "≥", "le": "≤", "leq": "≤", "ne": "≠", "neq": "≠", "in": "∈", "notin": "∉", "pm": "±",
    "mp": "∓", "cdot": "·", "times": "×", "to": "→", "infty": "∞", "succeq": "⪰", "preceq": "⪯", "odot": "∘",
    "circ": "∘", "forall": "∀", "cup": "∪", "cap": "∩", "subset": "⊂", "top": "'", "ldots": "...",
    "dots": "...", "sim": "~", "quad": " ", "qquad": " ", "mid": "|", "ell": "l", "prime": "'", "star": "*",
}  # fmt: skip
ACCENTS = {"tilde": "\u0303", "hat": "\u0302", "bar": "\u0304", "dot": "\u0307"}
SUBSCRIPTS = dict(zip("0123456789aehijklmnoprstuvx+-=()", "₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ₊₋₌₍₎", strict=True))
SUPERSCRIPTS = dict(zip("0123456789+-=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾", strict=True))
GROUP = r"\{((?:\\.|[^{}\\]|\{(?:\\.|[^{}\\]|\{[^{}]*\})*\})*)\}"


def plain_text(latex: str) -> str:
    r"""Convert a formula to plain text; an unknown command loses its backslash.

    >>> plain_text(r"\tfrac12 \|w\|^2 + C \sum_{i=1}^{20} \xi_i")
    '½ ‖w‖² + C Σᵢ₌₁²⁰ ξᵢ'
    >>> plain_text(r"y_i f(T_\theta x_i) \ge \rho_i - \xi_i \text{ for all rows}")
    'yᵢ f(T_θ xᵢ) ≥ ρᵢ - ξᵢ for all rows'
    """
    words: list[str] = []  # text inside the formula, which is not converted
    latex = latex.replace("\0", "")

    def aside(found: re.Match[str]) -> str:
        words.append(re.sub(r"\\(backslash |hat\{\}|sim |.)", _letter, found[1]))
        return f"\0{len(words) - 1}\0"

    text = re.sub(r"\\(?:text|mathrm|operatorname)" + GROUP, aside, latex)
    text = re.sub(r"\\(?:big|Big|bigg|Bigg|left|right|textstyle|displaystyle|mathbf)(?![a-zA-Z])", "", text)
    text = re.sub(r"\\[,;:! ]|\\quad|~", " ", text)
    text = text.replace(r"\tfrac12", "½").replace(r"\frac12", "½").replace(r"\|", "‖")
    fraction = re.compile(r"\\t?frac" + GROUP + GROUP)
    while fraction.search(text):
        text = fraction.sub(lambda m: f"{_part(m[1])}/{_part(m[2])}", text)
    text = re.sub(r"\\sqrt" + GROUP, r"√(\1)", text)
    accented = rf"\\({'|'.join(ACCENTS)})(?:\s*\\([a-zA-Z]+)|\s+([a-zA-Z])|\{{([^{{}}\\]*)\}})"
    text = re.sub(accented, lambda m: SYMBOLS.get(m[2], m[2] or m[3] or m[4]) + ACCENTS[m[1]], text)
    text = re.sub(r"\\([a-zA-Z]+)", lambda m: SYMBOLS.get(m[1], m[1]), text)
    text = re.sub(r"([∇∂])\s+", r"\1", text)
    text = re.sub(r"\^\{?'\}?", "'", text)
    text = re.sub(r"\\([{}])", lambda m: {"{": "\1", "}": "\2"}[m[1]], text)
    text = re.sub(rf"_(?:{GROUP}|(\S))", partial(_indexed, "_", SUBSCRIPTS), text)
    text = re.sub(rf"\^(?:{GROUP}|(\S))", partial(_indexed, "^", SUPERSCRIPTS), text)
    text = re.sub(r"\0(\d+)\0", lambda m: words[int(m[1])], text)
    text = re.sub(r"(?<!_)(?<!\^)\{([^{}]*)\}", r"\1", text)
    text = text.replace("\1", "{").replace("\2", "}").replace(r"\\", " ")
    return re.sub(r"\s+", " ", re.sub(r"\s+,", ",", text)).strip()


def _letter(escaped: re.Match[str]) -> str:
    return {"backslash ": "\\", "hat{}": "^", "sim ": "~"}.get(escaped[1], escaped[1])


def _part(text: str) -> str:
    """Return a numerator or denominator, in brackets if it is more than one word."""
    return text if re.fullmatch(r"[\w.|\\]+", text) else f"({text})"


def _indexed(sign: str, letters: dict[str, str], found: re.Match[str]) -> str:
    """Return an index or exponent, in small characters if all of them exist."""
    inner = (found[1] if found[1] is not None else found[2]).strip()
    if all(letter in letters for letter in inner):
        return "".join(letters[letter] for letter in inner)
    return f"{sign}{inner}" if re.fullmatch(r"[\w*.\0]+", inner) else f"{sign}{{{inner}}}"
