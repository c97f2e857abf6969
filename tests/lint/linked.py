#!/usr/bin/env python3
"""Driver libraries belong to the machine that runs and are opened at run time: linked.py FILE…

Prints each FILE (program or library) that names one as needed, and returns 1 when there is any, 77 without readelf.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

DRIVER = re.compile(r"lib(cuda|nvidia-[a-z]+|nvcuvid)\.so")


def needed(path):
    text = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", text)


def main(paths):
    if not shutil.which("readelf"):
        print("skipped: there is no readelf (binutils)")
        return 77
    offences = 0
    for path in paths:
        if not Path(path).exists():
            print(f"{path}: was not built")
            offences += 1
            continue
        libraries = needed(path)
        if not libraries:
            print(f"{path}: needs no library at all, so it is not what was meant")
            offences += 1
        for library in libraries:
            if DRIVER.match(library):
                print(f"{path}: needs {library}, which must be opened at run time")
                offences += 1
    print(f"linked: {len(paths)} files, {offences} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
