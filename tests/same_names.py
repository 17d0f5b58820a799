"""Replaces the parts of output that vary between runs: times, ids, process ids, commits.

Each part gets a number in the order of first occurrence, and each time the name of the place of its first
occurrence. Equal parts stay equal and different parts stay different. Only times and ids of the day
of the run are replaced; others belong to the case.
"""

import datetime
import functools
import re

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def days():
    """Returns the day of the run, and the next day, which may begin during the run."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return [now + datetime.timedelta(days=more) for more in range(2)]


DAY = "(?:" + "|".join(f"{day:%Y-%m-%d}" for day in days()) + ")"
ID_DAY = "(?:" + "|".join(DIGITS[day.year - 2020] + DIGITS[day.month] + DIGITS[day.day] for day in days()) + ")"
SECOND = rf"{DAY}[-T ]\d\d[-:]\d\d[-:]\d\d"
# The patterns, in the order in which they are tried at each position.
PATTERNS = {
    # The id of a job. The id of a task is the job's id followed by the task's number, which stays.
    "job": rf"(?<![0-9A-Za-z])A{ID_DAY}[0-9A-Za-z]{{4}}(?=(?:[0-9a-f]{{4}})?(?![0-9A-Za-z]))",
    "time": rf"{SECOND}[-.]\d{{3,9}}\b",
    # Microseconds since 1970.
    "micros": r"(?<=\"start\":)1[78]\d{14}\b",
    # The key of a project, and the digests that use it.
    "secret": r"(?<=\bsecret )[0-9a-f]{16,64}\b",
    # Two times may be in the same second in one run and not in the next.
    "second": SECOND,
    "uuid": r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    "ulid": r"\b0[0-9A-HJKMNP-TV-Z]{25}\b",
    "process": r"(?<=\bprocess )\d+|(?<=\bpid: )\d+|(?<=\"pid\":)\d+|(?<=\"pid\": )\d+",
    "tick": r"(?<=\bstart_time: )\d+|(?<=\"start_time\":)\d+|(?<=\"start_time\": )\d+",
    "clock": r"(?<=start_time: ')[\d:.]+|(?<=\"start_time\": \")[\d:.]+|(?<= Started: )[\d:.]+",
    # A job that ran nothing prints no time; the comparison covers this.
    "span": r"(?<![\d.])\d+\.\d{3}(?=s\b)|(?:(?<=\"timeElapsed\": )|(?<=\"elapsed\": )|(?<=\"seconds\":)"
    r"|(?<=\bduration: )|(?<=\"duration\": )|(?<=Duration: ))(?!0(?:\.0)?[^\d.])[\d.e-]+",
    "commit": r"\b[0-9a-f]{7,40}\b",
}
# The kinds that are named by the place of their first occurrence.
MOMENTS = {"time", "clock", "micros"}
# The kinds without a number, because their order is meaningless.
PLAIN = {"second", "span"}
PATTERN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in PATTERNS.items()))
MASKED = re.compile("|".join(pattern for name, pattern in PATTERNS.items() if name != "commit"))


@functools.lru_cache(10_000)
def masked(text):
    """Returns the text with one fixed word for each varying part, for sorting."""
    return MASKED.sub("<>", text)


class Names:
    """The names that a run has produced so far."""

    def __init__(self):
        self.given, self.commits = {}, set()
        self.is_commit, self.lines = {}, {}
        self.place = ""

    def in_text(self, text, place):
        """Returns the text of a place with the names replaced. All commits must be known."""
        lines = enumerate(text.splitlines(keepends=True), 1)
        return "".join([self.in_line(line, f"{place}:{number}") for number, line in lines])

    def in_line(self, line, place):
        # A cache, because most lines occur many times.
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
            # Two times may be equal by chance; this must not change later names.
            of_kind[found] = f" {self.place}" if kind in MOMENTS else len(of_kind) + 1
        return f"<{kind}{of_kind[found]}{length}>"

    def commit(self, text):
        """Returns the commit that an abbreviated id stands for."""
        if text not in self.is_commit:
            whole = (commit for commit in self.commits if commit.startswith(text))
            self.is_commit[text] = next(whole, None)
        return self.is_commit[text]
