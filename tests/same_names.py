"""Replaces what is different in each run of a program: moments, ids, process numbers, commits.

Each gets a number in the order in which they are seen, moments the name of the place where they are first
seen, so that what was one thing still is, and what were two still are. Only moments and ids of the day
of the run are replaced: others are part of a case.
"""

import datetime
import functools
import re

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def days():
    """The day of the run, and the one that may begin while it lasts."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return [now + datetime.timedelta(days=more) for more in range(2)]


DAY = "(?:" + "|".join(f"{day:%Y-%m-%d}" for day in days()) + ")"
ID_DAY = "(?:" + "|".join(DIGITS[day.year - 2020] + DIGITS[day.month] + DIGITS[day.day] for day in days()) + ")"
SECOND = rf"{DAY}[-T ]\d\d[-:]\d\d[-:]\d\d"
# In the order in which they are tried at each place.
PATTERNS = {
    # The id of a job; that of a task is its job's with the number of the task, which stays.
    "job": rf"(?<![0-9A-Za-z])A{ID_DAY}[0-9A-Za-z]{{4}}(?=(?:[0-9a-f]{{4}})?(?![0-9A-Za-z]))",
    "time": rf"{SECOND}[-.]\d{{3,9}}\b",
    # Microseconds since 1970.
    "micros": r"(?<=\"start\":)1[78]\d{14}\b",
    # The key of a project, and what is computed with it.
    "secret": r"(?<=\bsecret )[0-9a-f]{16,64}\b",
    # Two moments may be in the same second in one run and not in the next.
    "second": SECOND,
    "uuid": r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    "ulid": r"\b0[0-9A-HJKMNP-TV-Z]{25}\b",
    "process": r"(?<=\bprocess )\d+|(?<=\bpid: )\d+|(?<=\"pid\":)\d+|(?<=\"pid\": )\d+",
    "tick": r"(?<=\bstart_time: )\d+|(?<=\"start_time\":)\d+|(?<=\"start_time\": )\d+",
    "clock": r"(?<=start_time: ')[\d:.]+|(?<=\"start_time\": \")[\d:.]+|(?<= Started: )[\d:.]+",
    # No time at all is said where nothing ran, which is compared.
    "span": r"(?<![\d.])\d+\.\d{3}(?=s\b)|(?:(?<=\"timeElapsed\": )|(?<=\"elapsed\": )|(?<=\"seconds\":)"
    r"|(?<=\bduration: )|(?<=\"duration\": )|(?<=Duration: ))(?!0(?:\.0)?[^\d.])[\d.e-]+",
    "commit": r"\b[0-9a-f]{7,40}\b",
}
# These are named by the place where they are first seen.
MOMENTS = {"time", "clock", "micros"}
# These have no number: their order says nothing.
PLAIN = {"second", "span"}
PATTERN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in PATTERNS.items()))
MASKED = re.compile("|".join(pattern for name, pattern in PATTERNS.items() if name != "commit"))


@functools.lru_cache(10_000)
def masked(text):
    """The text with the same word for all that is different in each run, for sorting."""
    return MASKED.sub("<>", text)


class Names:
    """What was seen in a run."""

    def __init__(self):
        self.given, self.commits = {}, set()
        self.is_commit, self.lines = {}, {}
        self.place = ""

    def in_text(self, text, place):
        """The text of a place with the names; all commits must be known by now."""
        lines = enumerate(text.splitlines(keepends=True), 1)
        return "".join([self.in_line(line, f"{place}:{number}") for number, line in lines])

    def in_line(self, line, place):
        # Most lines are seen many times.
        if line not in self.lines:
            self.place = place
            self.lines[line] = PATTERN.sub(self.name, line)
        return self.lines[line]

    def name(self, match):
        kind, found = match.lastgroup, match[0]
        if kind in PLAIN:
            return f"<{kind}>"
        length = ""
        if kind == "commit":
            found = self.commit(found)
            if found is None:
                return match[0]
            length = f" {len(match[0])}"
        of_kind = self.given.setdefault(kind, {})
        if found not in of_kind:
            # Two moments may happen to be the same: what is seen later must not be renamed by that.
            of_kind[found] = f" {self.place}" if kind in MOMENTS else len(of_kind) + 1
        return f"<{kind}{of_kind[found]}{length}>"

    def commit(self, text):
        """The commit that a number stands for."""
        if text not in self.is_commit:
            whole = (commit for commit in self.commits if commit.startswith(text))
            self.is_commit[text] = next(whole, None)
        return self.is_commit[text]
