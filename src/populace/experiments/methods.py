"""A paragraph for the methods section of a paper, with citations, written from what an experiment recorded."""

from populace.base.errors import PopulaceError
from populace.base.formatting import plural
from populace.experiments.planned import level_text
from populace.experiments.results import Results
from populace.runs.settings_text import decider_text

CITATIONS = {
    "t": "Student (1908). The probable error of a mean. Biometrika 6(1).",
    "welch": "Welch (1947). The generalization of Student's problem. Biometrika 34(1–2).",
    "newcombe": "Newcombe (1998). Interval estimation for the difference between independent proportions; Improved "
    "confidence intervals for the difference between binomial proportions based on paired data. Stat. in Medicine 17.",
    "mid-p": "Lancaster (1961). Significance tests in discrete distributions. JASA 56(294).",
    "holm": "Holm (1979). A simple sequentially rejective multiple test procedure. Scand. J. of Statistics 6(2).",
    "bh": "Benjamini and Hochberg (1995). Controlling the false discovery rate. J. R. Stat. Soc. B 57(1).",
    "bonferroni": "Dunn (1961). Multiple comparisons among means. JASA 56(293).",
    "bootstrap": "Efron (1987). Better bootstrap confidence intervals. JASA 82(397).",
    "bootstrap-t": "Hall (1988). Theoretical comparison of bootstrap confidence intervals. Annals of Statistics 16(3).",
    "permutation": "Janssen (1997). Studentized permutation tests. Statistics & Probability Letters 36(1).",
    "looks": "Lan and DeMets (1983). Discrete sequential boundaries for clinical trials. Biometrika 70(3).",
    "censored": "Kaplan and Meier (1958). Nonparametric estimation from incomplete observations. JASA 53(282).",
}
"""What the paragraph may cite."""


def methods_text(results: Results) -> str:
    """The methods of an experiment in a paragraph, and the works that it cites.

    Args:
        results: The results of an experiment.
    """
    experiment, manifest = results.experiment, results.folder.manifest
    arms, replicates = results.folder.arms, manifest.replicates or experiment.replicates
    models = ", ".join(dict.fromkeys(decider_text(arm.decider, arm.model) for arm in arms))
    factors = "; ".join(
        f"{name} ({', '.join(map(str, factor.names)) if factor.low is None else f'{factor.low:g} to {factor.high:g}'})"
        for name, factor in experiment.factors.items()
    )
    cited: list[str] = []
    sentences = [
        f"We ran the scenario {experiment.scenario} of Populace {manifest.environment.get('populace', '')}".rstrip()
        + f" in a {experiment.design.kind} design with {plural(len(arms), 'arm')} over {factors}; decisions were made "
        f"by {models}. Each arm had {plural(replicates, 'replicate')}"
        + (", which share their seeds across arms (common random numbers)." if experiment.paired else ".")
    ]
    outcomes = ", ".join(outcome.name for outcome in experiment.outcomes)
    sentences.append(f"The unit of analysis is the run. Outcomes, declared beforehand, were {outcomes}.")
    plan = results.analysis_plan
    if plan is None:
        sentences.append("There was no analysis plan; all comparisons are exploratory.")
    else:
        sentences.append(f"The analysis plan (hash {plan.hash}) was frozen on {plan.when}.")
        if plan.plan.looks:
            looks = ", ".join(map(str, plan.plan.looks))
            sentences.append(f"Alpha was spent over planned looks at {looks} replicates (Lan and DeMets 1983).")
            cited.append("looks")
    sentences += _comparisons(results, cited)
    if any(outcome.time for outcome in experiment.outcomes):
        sentences.append("Times of events are censored at the end of a run (Kaplan and Meier 1958).")
        cited.append("censored")
    missing = results.failures.height
    sentences.append(
        f"{missing:,} of {plural(results.runs.height, 'run')} failed; tables give bounds for what is missing."
        if missing
        else f"None of {plural(results.runs.height, 'run')} failed."
    )
    works = "\n".join(f"* {CITATIONS[name]}" for name in dict.fromkeys(cited))
    return f"{' '.join(sentences)}\n\n{works}"


def _comparisons(results: Results, cited: list[str]) -> list[str]:
    """How arms were compared, from the methods that the tables name."""
    methods: set[str] = set()
    for outcome in results.experiment.outcomes:
        try:
            methods |= set(results.effects(outcome.name)["method"])
        except PopulaceError:
            continue
    sentences = []
    if any("proportions" in method for method in methods):
        sentences.append(
            "Outcomes of 0 and 1 were compared as proportions, with intervals that combine exact mid-P intervals "
            "(Lancaster 1961; Newcombe 1998)."
        )
        cited += ["mid-p", "newcombe"]
    names = {
        "paired t": ("t", "by paired t tests (Student 1908)"),
        "Welch t": ("welch", "by Welch's t test (Welch 1947)"),
        "bootstrap-t": ("bootstrap-t", "by the bootstrap-t (Hall 1988)"),
        "permutation": ("permutation", "by studentised permutation tests (Janssen 1997)"),
        "bootstrap (": ("bootstrap", "by the BCa bootstrap (Efron 1987)"),
    }
    used = [(key, words) for part, (key, words) in names.items() if any(part in method for method in methods)]
    if used:
        level = level_text(results)
        sentences.append(f"Arms were compared {' and '.join(words for _, words in used)}, with {level} intervals.")
        cited += [key for key, _ in used]
    correction = results.comparison().correction
    written = {"holm": "Holm 1979", "bh": "Benjamini and Hochberg 1995", "bonferroni": "Dunn 1961"}[correction]
    sentences.append(f"P values were adjusted for the number of comparisons of an outcome ({written}).")
    cited.append(correction)
    return sentences
