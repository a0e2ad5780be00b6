"""Two runs, two steps or two workers side by side: what is which, how far apart, and where it begins."""

from .compare import check_pairs, compare
from .flow import VERDICTS
from .headline import headline
from .html import comparison_html
from .likest import likest_run
from .matches_file import read_matches, write_matches
from .metrics import LOWER_IS_WORSE, METRICS, Metrics
from .pairs import read_both
from .records import Comparison, FirstDivergence, GraphPair, SideInfo, TensorDifference, Unmatched
from .side import Side
from .sorting import SORTS as DIFFERENCE_SORTS
from .sorting import listed_tensors, sorted_tensors
from .subtract import subtracted, worst_element
from .tables import comparison_csv
from .ulp import common_dtype, ulp_distance

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
    "comparison_html",
    "headline",
    "likest_run",
    "listed_tensors",
    "read_both",
    "read_matches",
    "sorted_tensors",
    "subtracted",
    "ulp_distance",
    "worst_element",
    "write_matches",
]
