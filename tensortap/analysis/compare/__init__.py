"""Two runs, two steps or two workers side by side: what is which, how far apart, and where it begins."""

from .compare import check_pairs, compare
from .comparison import Comparison, FirstDivergence, GraphPair, SideInfo, TensorDifference, Unmatched
from .files import comparison_csv, read_matches, write_matches
from .metrics.distances import LOWER_IS_WORSE, METRICS, Metrics
from .metrics.tensor_pairs import read_both
from .metrics.ulp import common_dtype, subtracted, ulp_distance, worst_element
from .presentation import SORTS as DIFFERENCE_SORTS
from .presentation import headline, listed_tensors, sorted_tensors
from .propagation.difference_flow import VERDICTS
from .side import Side
from .similar_runs import most_similar_run

__all__ = [
    "DIFFERENCE_SORTS",
    "LOWER_IS_WORSE",
    "METRICS",
    "VERDICTS",
    "Comparison",
    "FirstDivergence",
    "GraphPair",
    "Metrics",
    "Side",
    "SideInfo",
    "TensorDifference",
    "Unmatched",
    "check_pairs",
    "common_dtype",
    "compare",
    "comparison_csv",
    "headline",
    "listed_tensors",
    "most_similar_run",
    "read_both",
    "read_matches",
    "sorted_tensors",
    "subtracted",
    "ulp_distance",
    "worst_element",
    "write_matches",
]
