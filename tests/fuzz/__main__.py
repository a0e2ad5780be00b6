"""`make fuzz`: coverage-guided fuzzing (atheris) of every target, each in a process of its own.

    python tests/fuzz [--seconds N] [--target NAME] [--seeds]

`--seconds` is for all targets together (default: $FUZZ_SECONDS, or 600). It starts from tests/corpus, keeps
what reaches new code in .fuzz/, and leaves there the input of a crash, a hang of 20 s, or 2 GiB of memory;
move that to tests/corpus/NAME once it is mended. `--seeds` writes the first corpus anew.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent / "corpus"
FOUND = HERE.parents[1] / ".fuzz"
LIMITS = ("-timeout=20", "-rss_limit_mb=2048", "-max_len=20000", "-print_final_stats=1", "-verbosity=0")
LONGEST = 600
_READER = [f"tensortap.{part}" for part in ("dump", "core", "storage", "stats", "tfproto")]
# Whose branches guide the fuzzer; the less is instrumented, the sooner it starts.
_ROOMS = dict.fromkeys(("stats", "stats_file", "values", "graph", "events", "run_json", "archive"), _READER)
_ROOMS["bundle"] = _READER
_ROOMS["what_ifs"] = ["tensortap.replay", "tensortap.analysis"]
_ROOMS["questions"] = ["tensortap.index", "tensortap.server"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("FUZZ_SECONDS", LONGEST)))
    parser.add_argument("--target")
    parser.add_argument("--seeds", action="store_true")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        return fuzz(arguments.target, arguments.seconds)
    sys.path.insert(0, str(HERE))
    from targets import TARGETS

    if arguments.seeds:
        from seeds import write_seeds

        write_seeds(CORPUS)
        return 0
    names = [arguments.target] if arguments.target else list(TARGETS)
    each = max(1, arguments.seconds // len(names))
    failed = [name for name in names if not passes(name, each)]
    print(f"{len(names)} targets, {each} s each; failed: {', '.join(failed) or 'none'}")
    return bool(failed)


def passes(name: str, seconds: int) -> bool:
    """Fuzzes one target in a process of its own, which a crash ends."""
    command = [sys.executable, str(HERE), "--inside", "--target", name, "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    runs = next((line for line in done.stderr.splitlines() if "number_of_executed_units" in line), "")
    print(f"{name}: {runs.rpartition(' ')[2] or '?'} inputs, {'ok' if done.returncode == 0 else 'FAILED'}")
    if done.returncode:
        print(done.stderr[-4000:])
    return done.returncode == 0


def fuzz(name: str, seconds: int) -> int:
    """Never returns: libFuzzer ends the process."""
    import atheris

    sys.path.insert(0, str(HERE))
    with atheris.instrument_imports(include=_ROOMS.get(name, ["tensortap.importers"])):
        from targets import TARGETS
    TARGETS[name](min((CORPUS / name).iterdir()).read_bytes())  # what is compiled once is no hang
    found = FOUND / name
    found.mkdir(parents=True, exist_ok=True)
    folders = [str(found), str(CORPUS / name)]
    artefacts = f"-artifact_prefix={found}/found-"
    atheris.Setup([sys.argv[0], *LIMITS, artefacts, f"-max_total_time={seconds}", *folders], TARGETS[name])
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
