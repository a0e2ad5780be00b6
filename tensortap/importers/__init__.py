"""Foreign formats -> a run: `import_source` into a log directory, `cached_import` and `cached_copy` into a
cache.

`FORMATS` is the table of formats; docs/import.md says what is read of each, and what is not.
"""

from .errors import MissingReaderError, RefusedError, UnknownFormatError
from .import_cache import CachedImport, CacheRefusesError, cached_copy, cached_import
from .imports import import_source
from .registry import FORMATS, Format, detect, title_of
from .run_builder import Imported

__all__ = [
    "FORMATS",
    "CacheRefusesError",
    "CachedImport",
    "Format",
    "Imported",
    "MissingReaderError",
    "RefusedError",
    "UnknownFormatError",
    "cached_copy",
    "cached_import",
    "detect",
    "import_source",
    "title_of",
]
