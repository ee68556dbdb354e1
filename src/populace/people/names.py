"""First and family names for simulated people.

Names are drawn without repetition, so that no two people of a population have the same name: first names alone while
there are enough, then first and family names, then with initials between them.
"""

from __future__ import annotations

import string

import numpy as np
import polars as pl

FEMALE = tuple(
    "Mary Linda Susan Karen Nancy Lisa Betty Helen Sandra Donna Carol Ruth Sharon Laura Emily Anna Grace Julia Alice "
    "Rose Clara Irene Nora Ellen Marta Sofia Elena Lucia Ingrid Astrid Greta Hanna Leila Amina Fatima Yasmin Zainab "
    "Nadia Samira Priya Anjali Kavita Meera Lakshmi Mei Ling Xiu Yuki Aiko Keiko Haruka Minji Soyeon Thuy Lan Amara "
    "Chioma Ngozi Adaeze Abena Akua Wanjiru Makena Zola Thandi Camila Valeria Ximena Paloma Renata Beatriz Larissa "
    "Olga Tatiana Irina Svetlana Katya Milena Jelena Ivana Petra Zuzana Agnes Judit Eszter Ioana Despina Eleni Aylin "
    "Elif Zeynep Shirin Parisa Tamar Rivka Noa Leah Maeve Siobhan Fiona Isla".split()
)
MALE = tuple(
    "James Robert John Michael David William Richard Joseph Thomas Charles Daniel Matthew Anthony Mark Steven Paul "
    "Andrew Kenneth George Edward Brian Peter Samuel Frank Henry Walter Arthur Oscar Hugo Felix Anton Karl Lars Erik "
    "Nils Mateo Diego Javier Pablo Andres Rafael Bruno Tiago Marco Luca Paolo Enzo Ahmed Omar Hassan Yusuf Karim Tariq "
    "Bilal Arjun Rohan Vikram Sanjay Anil Wei Jun Hao Chen Takeshi Hiroshi Kenji Ryo Minho Jisoo Duc Minh Kwame Kofi "
    "Chidi Emeka Tunde Sipho Thabo Jabari Juma Ivan Dmitri Sergei Pavel Milan Goran Tomas Jakub Zoltan Andrei Nikos "
    "Kostas Emre Murat Dariush Reza Eitan Levi Liam Declan Angus Ewan".split()
)
FAMILY = tuple(
    "Smith Johnson Brown Taylor Miller Wilson Moore Anderson Jackson White Harris Martin Thompson Garcia Martinez "
    "Robinson Clark Lewis Walker Hall Allen Young King Wright Scott Green Baker Adams Nelson Carter Mitchell Perez "
    "Roberts Turner Phillips Campbell Parker Evans Edwards Collins Stewart Sanchez Morris Rogers Reed Cook Morgan Bell "
    "Murphy Bailey Rivera Cooper Cox Howard Ward Torres Peterson Gray Ramirez Watson Brooks Kelly Sanders Price "
    "Bennett Wood Barnes Ross Henderson Coleman Jenkins Perry Powell Long Patterson Hughes Flores Butler Simmons "
    "Foster Gonzales Bryant Alexander Russell Griffin Diaz Hayes Novak Kowalski Horvat Petrov Ivanova Jensen Hansen "
    "Larsen Virtanen Muller Schmidt Weber Fischer Rossi Ferrari Bianchi Costa Silva Santos Oliveira Okafor Mensah "
    "Abebe Diallo Ndiaye Khan Ali Hussain Rahman Patel Sharma Singh Gupta Reddy Iyer Wang Li Zhang Liu Zhao Tanaka "
    "Suzuki Sato Kim Park Choi Nguyen Tran Pham Cohen Levy Haddad Nasser Yilmaz Demir Papadakis Popescu Nagy Kovacs "
    "Dubois Laurent Moreau Bernard Janssen Bakker Visser Lindberg Nystrom Byrne Walsh Fraser".split()
)

_FIRSTS, _FAMILIES = pl.Series("first", FEMALE + MALE), pl.Series("family", FAMILY)
_INITIALS = pl.Series([f"{letter}." for letter in string.ascii_uppercase])
_SEXES = pl.Series("sex", ["female", "male"], dtype=pl.Enum(["female", "male"]))


def draw_names(count: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw `count` distinct names with the sex that each first name suggests.

    Example:
        >>> draw_names(3, np.random.default_rng(1)).columns
        ['name', 'sex']
    """
    firsts, families, letters = _FIRSTS, _FAMILIES, _INITIALS
    short = count <= len(firsts)
    total = len(firsts) if short else len(firsts) * len(families)
    initials = 0
    while total < count:
        total *= len(letters)
        initials += 1
    index = rng.choice(total, count, replace=False)
    first, rest = index % len(firsts), index // len(firsts)
    columns = [firsts[pl.Series(first)]]
    for number in range(initials):
        columns.append(letters[pl.Series(rest % len(letters))].alias(f"initial{number}"))
        rest = rest // len(letters)
    if not short:
        columns.append(families[pl.Series(rest)])
    name = columns[0] if short else pl.select(pl.concat_str(columns, separator=" ")).to_series()
    sex = _SEXES[pl.Series((first >= len(FEMALE)).astype(np.uint8))]
    return pl.DataFrame([name.alias("name"), sex])
