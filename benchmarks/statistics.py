"""How fast arrays are measured, next to memcpy and to what NumPy needs for the same figures.

    python benchmarks/statistics.py [--quick]

Every line is one array; all alternatives run in turn and the medians of their CPU times are given. `NumPy` is
what one would write without tensortap: counts of NaN, Inf, zeros and signs, minimum, maximum, mean, std and
norm by one reduction each, and `np.histogram` (60 bins). Look at the ratios: the machine may be busy.
"""

import importlib.util
import os
import sys
from pathlib import Path


def stand_aside() -> None:
    """Hands the name `statistics` back to the standard library.

    Python looks for modules in the folder of the script that runs, so the other benchmarks, and whatever they
    import, find this file first.
    """
    library = Path(os.__file__).with_name("statistics.py")
    spec = importlib.util.spec_from_file_location("statistics", library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["statistics"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    from _measuring import main

    main((__doc__ or "").split("\n")[0])
else:
    stand_aside()
