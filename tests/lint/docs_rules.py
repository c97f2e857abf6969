"""What the documentation says of the house must be so: links, files, deck keys, verbs, quoted source."""
import re
from pathlib import Path

CODE = re.compile(r"```(\w*)\n(.*?)```|`([^`\n]+)`", re.S)
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)]*)?\)")
PLACE = re.compile(r"(?<![\w/.-])(?:src|tests|inputs|jobscripts|modules|docs)/[\w./-]+")
VERB = re.compile(r"(?<![\w-])galvatron ([a-z]+)(?= |$)", re.M)
FILE_ENDINGS = {"kept", "toml", "h5", "txt", "jsonl", "cpp", "hpp", "md", "sh", "sbatch", "json"}


def documents(root):
    pages = [root / "README.md", root / "src" / "README.md", root / "modules" / "README.md"]
    pages += sorted((root / "docs").glob("**/*.md")) + sorted((root / "src").glob("*/README.md"))
    return [page for page in pages if page.exists()]


def deck_keys(root):
    """Section → keys, from the manual, which a test holds equal to what the program prints."""
    manual = root / "docs" / "deck.md"
    keys, section = {}, None
    for line in manual.read_text().splitlines() if manual.exists() else []:
        if found := re.match(r"## \[(\w+)\]", line):
            section = keys.setdefault(found.group(1), set())
        elif section is not None and (found := re.match(r"\| `(\w+)` \|", line)):
            section.add(found.group(1))
    return keys


def verbs(root):
    table = root / "src" / "app" / "verbs.cpp"
    return set(re.findall(r'\{"([a-z]+)",\s+(?:ranks|alone)', table.read_text())) if table.exists() else set()


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def check_docs(root, _build, offences):
    keys, known_verbs = deck_keys(root), verbs(root)
    sources = [squeezed(path.read_text()) for path in sorted((root / "src").glob("**/*.[ch]pp"))]
    for page in documents(root):
        text = page.read_text()
        for found in LINK.finditer(text):
            if not re.match(r"[a-z]+:", found.group(1)) and not (page.parent / found.group(1)).exists():
                offences.add(page, line_of(text, found.start()), f"the link to {found.group(1)} leads nowhere")
        for found in CODE.finditer(text):
            code = found.group(2) or found.group(3) or ""
            if found.group(1) == "cpp":
                for part in code.split("\n\n"):
                    if not any(squeezed(part) in source for source in sources):
                        offences.add(page, line_of(text, found.start()), f"not in the source: {squeezed(part)[:60]} …")
            else:
                check_words_of(root, page, line_of(text, found.start()), code, keys, known_verbs, offences)


def check_words_of(root, page, line, code, keys, known_verbs, offences):
    for found in PLACE.finditer(code):
        name = found.group(0).rstrip(".")
        follows = code[found.end():found.end() + 1]
        if follows not in ("<", "*", "{", "…", "$") and not Path(root / name).exists():
            offences.add(page, line, f"{name} is not there")
    for found in VERB.finditer(code):
        if known_verbs and found.group(1) not in known_verbs:
            offences.add(page, line, f"there is no verb {found.group(1)}")
    for section, key in re.findall(r"(?<![\w./-])(\w+)\.(\w+)", code):
        if section in keys and key not in keys[section] and key not in FILE_ENDINGS:
            offences.add(page, line, f"there is no deck key {section}.{key}")
    if found := re.fullmatch(r"\[([a-z]\w*)\]", code):
        if keys and found.group(1) not in keys:
            offences.add(page, line, f"there is no deck section [{found.group(1)}]")
