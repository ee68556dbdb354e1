"""The personas of the demand study: a table of invented shoppers, made by a generator and shipped as `personas.csv`.

They are no sample of a real population. Shares of ages, incomes and households roughly follow those of adults in the
United States, so that prompts read like those of a survey there. A study about real people brings its own table.
"""

from pathlib import Path

import numpy as np
import polars as pl

TABLE = Path(__file__).with_name("personas.csv")
"""The 500 personas that ship, the result of `generate_personas(500)`."""

_EDUCATION = ("less than high school", "high school", "some college", "bachelor's degree", "graduate degree")
_EDUCATION_SHARES = (0.09, 0.28, 0.26, 0.23, 0.14)
_AREAS = ("a large city", "a suburb", "a small town", "the countryside")
_AREA_SHARES = (0.30, 0.38, 0.20, 0.12)
_JOBS = (
    ("warehouse worker", "cleaner", "cook", "farm worker", "driver"),
    ("shop assistant", "electrician", "truck driver", "receptionist", "machine operator", "hairdresser"),
    ("nursing assistant", "police officer", "sales representative", "bookkeeper", "technician"),
    ("teacher", "nurse", "accountant", "software developer", "office manager", "graphic designer"),
    ("physician", "lawyer", "professor", "engineer", "pharmacist"),
)


def generate_personas(count: int, seed: int = 2024) -> pl.DataFrame:
    """Invented shoppers: age, gender, household, education, work, income in dollars a year, and where they live.

    Example:
        >>> generate_personas(2).columns
        ['persona', 'age', 'gender', 'household', 'education', 'work', 'income', 'area']
    """
    rng = np.random.default_rng(seed)
    age = np.clip(np.round(rng.gamma(6.5, 7.4, count)), 18, 90).astype(np.int64)
    gender = np.where(rng.random(count) < 0.51, "woman", "man")
    schooling = rng.choice(len(_EDUCATION), count, p=_EDUCATION_SHARES)
    household = np.clip(1 + rng.poisson(np.where((age > 27) & (age < 55), 1.9, 0.9)), 1, 7)
    at_work = (age < 66) & (rng.random(count) < 0.88)
    pay = rng.lognormal(10.35 + 0.28 * schooling + 0.18 * (household > 1), 0.45)
    income = np.round(np.where(at_work, pay, 0.6 * pay) / 500).astype(np.int64) * 500
    choice = rng.random(count)
    work = np.empty(count, dtype=object)
    for grade, jobs in enumerate(_JOBS):
        rows = schooling == grade
        work[rows] = np.array(jobs)[(choice[rows] * len(jobs)).astype(np.int64)]
    work[~at_work & (age >= 60)] = "retired"
    work[~at_work & (age < 60)] = "not working at present"
    work[(age < 23) & (choice < 0.5)] = "student"
    return pl.DataFrame(
        {
            "persona": [f"P{number:03d}" for number in range(1, count + 1)],
            "age": age,
            "gender": gender,
            "household": household,
            "education": pl.Series(_EDUCATION).gather(pl.Series(schooling)),
            "work": work.astype(str),
            "income": income,
            "area": pl.Series(_AREAS).gather(pl.Series(rng.choice(len(_AREAS), count, p=_AREA_SHARES))),
        }
    )
