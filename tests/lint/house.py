"""What the lint rules know of the house: its rooms, its files, and how an offence is written."""
import os
import re
from dataclasses import dataclass
from pathlib import Path

SOURCES = {".cpp", ".hpp", ".cu", ".cuh", ".c", ".h"}
TEXTS = SOURCES | {".py", ".sh", ".md", ".toml", ".cmake", ".txt", ".in", ".json", ".yaml", ".sbatch", ".lua", ""}


@dataclass
class Room:
    name: str
    rooms: set
    outside: set


class Offences:
    def __init__(self, root):
        self.root = root
        self.lines = []

    def add(self, path, number, text):
        self.lines.append(f"{os.path.relpath(path, self.root)}:{number}: {text}")


def read_layers(root):
    """The rooms of src/LAYERS by name, in their order."""
    rooms = {}
    for line in (root / "src" / "LAYERS").read_text().splitlines():
        if not re.match(r"[a-z]", line):
            continue
        name, rest = (part.strip() for part in line.split(":", 1))
        granted, outside = rest.split("|", 1)
        names = set(rooms) if granted.strip() == "everything" else set(granted.split())
        rooms[name] = Room(name, names, set(outside.split()))
    return rooms


def walk(folder):
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f != "__pycache__" and not f.startswith("."))
        for name in sorted(names):
            yield Path(parent) / name


def source_files(folder):
    return [path for path in walk(folder) if path.suffix in SOURCES]


def house_files(root):
    """Every text that is written by hand."""
    for name in ["src", "tests", "docs", "modules", "jobscripts", "inputs"]:
        yield from (path for path in walk(root / name) if path.suffix in TEXTS)
    for name in ["CMakeLists.txt", "CMakePresets.json", "README.md", "spack.yaml"]:
        if (root / name).exists():
            yield root / name
