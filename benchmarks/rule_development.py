"""Tables on which the choice of ``mu="auto"`` was developed: none of them is a table of the study.

The rules were written before any result on these tables was seen. Thresholds are medical limits, grades or
common knowledge. Where no such limit is known, a half of the rows takes the place of the textbook.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .rule_tables import Stated, StudyTable, clinical_frame, complete_table, event_within, from_textbook


def _yes(frame: Any, columns: list[str], word: str = "yes") -> None:
    """Replace words by 1 for one of them and by 0 for all others; an unknown value stays unknown."""
    for column in columns:
        frame[column] = (frame[column] == word).astype(float).where(frame[column].notna())


# ---------------------------------------------------------------------- clinical tables


def colon() -> StudyTable:
    """Recurrence within three years with colon cancer (survival)."""
    frame = clinical_frame("survival", "colon")
    frame = frame[frame["etype"] == 1].copy()
    frame["treated"] = frame["rx"] == "Lev+5FU"
    columns = ["age", "sex", "obstruct", "perfor", "adhere", "nodes", "differ", "extent", "surg", "treated"]
    return complete_table(
        "colon",
        frame,
        columns,
        event_within(frame["time"], frame["status"] == 1, 3 * 365.25),
        [
            Stated("nodes > 4", 1),  # many positive nodes
            Stated("extent >= 4", 1),  # contiguous structures
            Stated("differ >= 3 and obstruct >= 1", 1),  # poorly differentiated, obstructed
            Stated("nodes <= 1 and treated >= 1", 0),
        ],
        [Stated("nodes >= 2", 1), Stated("differ >= 2", 1)],
        Stated("age >= 70", 1),
        {"nodes": 1, "extent": 1, "differ": 1, "treated": -1},
    )


def lung() -> StudyTable:
    """Death within one year with lung cancer (survival)."""
    frame = clinical_frame("survival", "cancer").rename(columns=lambda name: name.replace(".", "_"))
    return complete_table(
        "lung",
        frame,
        ["age", "sex", "ph_ecog", "ph_karno", "pat_karno", "wt_loss"],
        event_within(frame["time"], frame["status"] == 2, 365.25),
        [
            Stated("ph_ecog >= 2", 1),  # in bed for a part of the day
            Stated("pat_karno <= 60", 1),  # needs help
            Stated("ph_ecog <= 0 and sex >= 2", 0),  # no symptoms, women
        ],
        [Stated("ph_karno <= 80", 1), Stated("pat_karno <= 80", 1)],
        Stated("wt_loss >= 15", 1),
        {"ph_ecog": 1, "pat_karno": -1, "sex": -1, "age": 1},
    )


def veteran() -> StudyTable:
    """Death within 120 days with lung cancer (survival)."""
    frame = clinical_frame("survival", "veteran").copy()
    for kind in ("squamous", "smallcell", "adeno", "large"):
        frame[kind] = frame["celltype"] == kind
    return complete_table(
        "veteran",
        frame,
        ["trt", "karno", "diagtime", "age", "prior", "squamous", "smallcell", "adeno"],
        event_within(frame["time"], frame["status"] == 1, 120.0),
        [
            Stated("karno <= 40", 1),  # disabled
            Stated("smallcell >= 1", 1),
            Stated("karno >= 80", 0),  # normal activity
        ],
        [Stated("karno <= 60", 1), Stated("adeno >= 1", 1)],
        Stated("prior >= 10", 1),
        {"karno": -1, "smallcell": 1},
    )


def flchain() -> StudyTable:
    """Death within ten years (survival, serum free light chains)."""
    frame = clinical_frame("survival", "flchain").copy()
    frame["man"] = frame["sex"] == "M"
    frame["lambda_chain"] = frame["lambda"]
    return complete_table(
        "flchain",
        frame,
        ["age", "man", "kappa", "lambda_chain", "creatinine", "mgus"],
        event_within(frame["futime"], frame["death"] == 1, 3652.5),
        [
            Stated("age >= 80", 1),
            Stated("creatinine >= 1.5 and age >= 65", 1),  # impaired kidneys
            Stated("kappa + lambda_chain >= 4", 1),  # about twice the normal sum
            Stated("age <= 60 and creatinine <= 1.2", 0),
        ],
        [Stated("age >= 63", 1), Stated("kappa >= 1.3", 1)],
        Stated("mgus >= 1", 1),
        {"age": 1, "kappa": 1, "lambda_chain": 1, "creatinine": 1},
    )


def mgus() -> StudyTable:
    """Death within five years with a monoclonal gammopathy (survival)."""
    frame = clinical_frame("survival", "mgus2").copy()
    frame["man"] = frame["sex"] == "M"
    return complete_table(
        "mgus",
        frame,
        ["age", "man", "hgb", "creat", "mspike"],
        event_within(frame["futime"], frame["death"] == 1, 60.0),
        [
            Stated("age >= 85", 1),
            Stated("hgb < 10", 1),  # anaemia
            Stated("creat >= 2", 1),  # kidney failure
            Stated("age <= 60 and hgb >= 12", 0),
        ],
        [Stated("age >= 72", 1), Stated("hgb <= 13", 1)],
        Stated("mspike >= 1.5", 1),
        {"age": 1, "hgb": -1, "creat": 1},
    )


def melanoma() -> StudyTable:
    """Death from melanoma within five years (boot)."""
    frame = clinical_frame("boot", "melanoma")
    return complete_table(
        "melanoma",
        frame,
        ["sex", "age", "year", "thickness", "ulcer"],
        event_within(frame["time"], frame["status"] == 1, 5 * 365.25),
        [
            Stated("thickness > 4", 1),  # T4
            Stated("ulcer >= 1 and thickness > 2", 1),  # T3b
            Stated("thickness <= 1", 0),  # T1
        ],
        [Stated("thickness >= 2", 1), Stated("ulcer >= 1", 1)],
        Stated("year >= 1970", 0),
        {"thickness": 1, "ulcer": 1, "age": 1},
    )


def stagec() -> StudyTable:
    """Progression of prostate cancer within six years (rpart)."""
    frame = clinical_frame("rpart", "stagec").copy()
    frame["diploid"] = frame["ploidy"] == "diploid"
    return complete_table(
        "stagec",
        frame,
        ["age", "eet", "g2", "grade", "gleason", "diploid"],
        event_within(frame["pgtime"], frame["pgstat"] == 1, 6.0),
        [
            Stated("gleason >= 8", 1),  # high grade
            Stated("grade >= 3 and diploid <= 0", 1),
            Stated("gleason <= 5", 0),
        ],
        [Stated("gleason >= 7", 1), Stated("g2 >= 13", 1)],
        Stated("age >= 65", 1),
        {"gleason": 1, "grade": 1, "g2": 1, "diploid": -1},
    )


def heart_attack() -> StudyTable:
    """Death of women after a heart attack (DAAG, mifem)."""
    frame = clinical_frame("DAAG", "mifem").copy()
    yes = ["premi", "diabetes", "highbp", "hichol", "angina", "stroke"]
    _yes(frame, yes, "y")
    return complete_table(
        "heart attack",
        frame,
        ["age", "yronset", *yes],
        frame["outcome"] == "dead",
        [
            Stated("stroke >= 1", 1),
            Stated("premi >= 1 and diabetes >= 1", 1),
            Stated("age <= 50 and premi <= 0", 0),
        ],
        [Stated("premi >= 1", 1), Stated("age >= 63", 1)],
        Stated("yronset >= 90", 0),
        {"age": 1, "stroke": 1, "premi": 1, "diabetes": 1},
    )


# ---------------------------------------------------------------------- other tables with known thresholds


def mortgages() -> StudyTable:
    """Mortgages that were denied (AER, HMDA)."""
    frame = clinical_frame("AER", "HMDA").copy()
    yes = ["phist", "selfemp", "insurance", "condomin", "single", "hschool"]
    _yes(frame, yes)
    frame["chist"] = frame["chist"].astype(float)
    frame["mhist"] = frame["mhist"].astype(float)
    return complete_table(
        "mortgages",
        frame,
        ["pirat", "hirat", "lvrat", "chist", "mhist", "unemp", *yes],
        frame["deny"] == "yes",
        [
            Stated("insurance >= 1", 1),  # insurance was denied
            Stated("lvrat > 0.95", 1),
            Stated("pirat > 0.43", 1),  # usual limit of payments to income
            Stated("chist >= 5 and phist >= 1", 1),  # bad record
            Stated("chist <= 1 and lvrat <= 0.8", 0),
        ],
        [Stated("chist >= 3", 1), Stated("pirat >= 0.33", 1)],
        Stated("condomin >= 1", 1),
        {"pirat": 1, "lvrat": 1, "chist": 1, "phist": 1, "insurance": 1},
    )


def titanic() -> StudyTable:
    """Survival of the Titanic (carData)."""
    frame = clinical_frame("carData", "TitanicSurvival").copy()
    frame["woman"] = frame["sex"] == "female"
    frame["deck"] = frame["passengerClass"].astype(str).str[0].astype(float)
    return complete_table(
        "titanic",
        frame,
        ["woman", "age", "deck"],
        frame["survived"] == "yes",
        [
            Stated("woman >= 1 and deck <= 2", 1),
            Stated("age <= 10 and deck <= 2", 1),  # women and children first
            Stated("woman <= 0 and age >= 16 and deck >= 2", 0),
        ],
        [Stated("woman >= 1", 1), Stated("deck >= 3", 0)],
        Stated("age >= 40", 1),
        {"woman": 1, "deck": -1, "age": -1},
    )


def working_wives() -> StudyTable:
    """Married women who work for a wage (wooldridge, mroz)."""
    frame = clinical_frame("wooldridge", "mroz")
    return complete_table(
        "working wives",
        frame,
        ["kidslt6", "kidsge6", "age", "educ", "hushrs", "huseduc", "huswage", "unem", "city", "exper"],
        frame["inlf"],
        [
            Stated("exper >= 15", 1),
            Stated("kidslt6 >= 2", 0),
            Stated("educ >= 16 and kidslt6 <= 0", 1),  # a degree, and no small child
            Stated("exper <= 2", 0),
        ],
        [Stated("exper >= 9", 1), Stated("educ >= 13", 1)],
        Stated("city >= 1", 1),
        {"exper": 1, "educ": 1, "kidslt6": -1, "age": -1},
    )


# ---------------------------------------------------------------------- rules from a textbook half


def penguins() -> StudyTable:
    """Chinstrap penguins against the other species."""
    frame = clinical_frame("palmerpenguins", "penguins")
    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "year"]
    frame = frame.dropna(subset=columns)
    return from_textbook(
        "penguins",
        frame[columns].to_numpy(float),
        (frame["species"] == "Chinstrap").to_numpy().astype(int),
        columns,
        [("bill_length_mm", ">=", 1), ("bill_length_mm", "<=", 0), ("flipper_length_mm", ">=", 0)],
        ("year", ">=", 1),
        {"bill_length_mm": 1, "bill_depth_mm": 1, "flipper_length_mm": -1},
    )


def athletes() -> StudyTable:
    """Men among athletes, by measurements of blood (DAAG, ais)."""
    frame = clinical_frame("DAAG", "ais")
    columns = ["rcc", "wcc", "hc", "hg", "ferr", "bmi"]
    return from_textbook(
        "athletes",
        frame[columns].to_numpy(float),
        (frame["sex"] == "m").to_numpy().astype(int),
        columns,
        [("hg", ">=", 1), ("ferr", ">=", 1), ("hc", "<=", 0)],
        ("wcc", ">=", 1),
        {"hg": 1, "hc": 1, "rcc": 1, "ferr": 1},
    )


def cars() -> StudyTable:
    """Cars that use little fuel (ISLR, Auto)."""
    frame = clinical_frame("ISLR", "Auto")
    columns = ["cylinders", "displacement", "horsepower", "weight", "acceleration", "year"]
    return from_textbook(
        "cars",
        frame[columns].to_numpy(float),
        (frame["mpg"] > frame["mpg"].median()).to_numpy().astype(int),
        columns,
        [("weight", "<=", 1), ("horsepower", ">=", 0), ("year", ">=", 1)],
        ("acceleration", ">=", 1),
        {"weight": -1, "horsepower": -1, "year": 1},
    )


def colleges() -> StudyTable:
    """Private colleges (ISLR)."""
    frame = clinical_frame("ISLR", "College").rename(columns=lambda name: name.replace(".", "_"))
    columns = ["Apps", "Top10perc", "F_Undergrad", "P_Undergrad", "Outstate", "Books", "PhD", "S_F_Ratio"]
    return from_textbook(
        "colleges",
        frame[columns].to_numpy(float),
        (frame["Private"] == "Yes").to_numpy().astype(int),
        columns,
        [("F_Undergrad", ">=", 0), ("Outstate", ">=", 1), ("S_F_Ratio", ">=", 0)],
        ("Books", ">=", 1),
        {"F_Undergrad": -1, "Outstate": 1, "S_F_Ratio": -1},
    )


def players() -> StudyTable:
    """Baseball players with a salary above the median (ISLR, Hitters)."""
    frame = clinical_frame("ISLR", "Hitters").dropna()
    columns = ["AtBat", "Hits", "HmRun", "Walks", "Years", "PutOuts", "Assists", "Errors"]
    return from_textbook(
        "players",
        frame[columns].to_numpy(float),
        (frame["Salary"] > frame["Salary"].median()).to_numpy().astype(int),
        columns,
        [("Years", "<=", 0), ("Years", ">=", 1), ("Hits", ">=", 1)],
        ("Errors", ">=", 1),
        {"Years": 1, "Hits": 1, "Walks": 1},
    )


DEVELOPMENT: dict[str, Callable[[], StudyTable]] = {
    "colon": colon,
    "lung": lung,
    "veteran": veteran,
    "flchain": flchain,
    "mgus": mgus,
    "melanoma": melanoma,
    "stagec": stagec,
    "heart_attack": heart_attack,
    "mortgages": mortgages,
    "titanic": titanic,
    "working_wives": working_wives,
    "penguins": penguins,
    "athletes": athletes,
    "cars": cars,
    "colleges": colleges,
    "players": players,
}
