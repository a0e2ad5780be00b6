"""Importers: files of other programs become a run of a log directory, or of the user's cache.

`registry.py` is the table of formats. A new importer is one file, with functions that say whether a path
is in its format and that read it into a `RunBuilder`, and one row there (for files of arrays: one row of
`arrays/array_folder.py`). Imports `dump`, `storage` and `tfproto`, neither TensorFlow nor what shows runs.
Sources may be hostile: read them with `safe_io.py`. Begin at `importing.py`; docs/import.md is for users.
"""

from .errors import MissingReaderError, RefusedError, UnknownFormatError
from .import_cache import CachedImport, CacheNotWritableError, cached_copy, cached_import
from .importing import import_source
from .registry import IMPORTERS, Importer, detect, title_of
from .run_builder import Imported

__all__ = [
    "IMPORTERS",
    "CacheNotWritableError",
    "CachedImport",
    "Imported",
    "Importer",
    "MissingReaderError",
    "RefusedError",
    "UnknownFormatError",
    "cached_copy",
    "cached_import",
    "detect",
    "import_source",
    "title_of",
]
