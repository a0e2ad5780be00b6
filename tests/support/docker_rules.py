"""A Dockerfile as instructions, and what is wrong with it: what a linter would say, without an engine."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Instruction:
    """`COPY --from=page a b` -> keyword `COPY`, flags `{"from": "page"}`, rest `a b`."""

    keyword: str
    flags: dict[str, str]
    rest: str

    def words(self) -> list[str]:
        """The arguments, of either form: `a b` or `["a", "b"]`."""
        return list(json.loads(self.rest)) if self.rest.startswith("[") else self.rest.split()


@dataclass
class Stage:
    """One FROM and what follows it."""

    image: str
    name: str | None
    instructions: list[Instruction] = field(default_factory=list)

    def all(self, keyword: str) -> list[Instruction]:
        return [instruction for instruction in self.instructions if instruction.keyword == keyword]

    def last(self, keyword: str) -> Instruction:
        return self.all(keyword)[-1]


def parse(text: str) -> list[Stage]:
    """The stages of a Dockerfile."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\\\n\s*", "", text)
    stages: list[Stage] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        keyword, _, rest = line.partition(" ")
        if keyword.upper() == "FROM":
            image, _, name = rest.partition(" AS ")
            stages.append(Stage(image, name or None))
        else:
            flags = re.match(r"(?:--\S+\s+)*", rest)
            assert flags is not None
            given = dict(flag[2:].partition("=")[::2] for flag in flags[0].split())
            stages[-1].instructions.append(Instruction(keyword.upper(), given, rest[flags.end() :].strip()))
    return stages


def problems(text: str) -> list[str]:
    """One sentence for each broken rule, in no particular order."""
    stages = parse(text)
    found = [problem for stage in stages for problem in _stage_problems(stage)]
    final = stages[-1]
    users = final.all("USER")
    if not users or users[-1].rest.split(":")[0] in ("root", "0"):
        found.append("the image runs as root")
    if not final.all("HEALTHCHECK"):
        found.append("there is no health check")
    for keyword in ("CMD", "ENTRYPOINT"):
        if any(not instruction.rest.startswith("[") for instruction in final.all(keyword)):
            found.append(f"{keyword} goes through a shell, which keeps signals from the program")
    return found


def _stage_problems(stage: Stage) -> list[str]:
    found = []
    tag = stage.image.partition(":")[2].partition("@")[0]
    if not re.search(r"\d", tag):
        found.append(f"{stage.image} is not pinned to a version")
    for run in stage.all("RUN"):
        if re.search(r"apt-get\s+(-\S+\s+)*install", run.rest):
            if "--no-install-recommends" not in run.rest:
                found.append("apt-get installs recommended packages")
            if "rm -rf /var/lib/apt/lists/*" not in run.rest:
                found.append("package lists stay in the layer")
        if re.search(r"pip\S*\s+install", run.rest) and "--no-cache-dir" not in run.rest:
            found.append("pip's cache stays in the layer")
        if "sudo" in run.rest.split():
            found.append("sudo in an image")
    if stage.all("ADD"):
        found.append("ADD unpacks and downloads; COPY says what is meant")
    return found
