"""Runs a state file that is a program in Python, and prints the states of its function `run` as JSON.

The standard input has the path, the text and the variables of the program as JSON. The standard output of the program
itself goes to the error output.
"""
import json
import os
import sys
import traceback


class Functions(dict):
    """The functions of `__salt__` that only look up data."""

    def __init__(self, variables):
        super().__init__(
            {
                "grains.get": lambda *args, **named: look_up(variables["grains"], *args, **named),
                "pillar.get": lambda *args, **named: look_up(variables["pillar"], *args, **named),
            }
        )

    def __missing__(self, name):
        raise NotImplementedError(
            f"a state file in Python cannot call `{name}`: it has pillar.get and grains.get only"
        )


def look_up(data, key, default="", delimiter=":"):
    for part in key.split(delimiter):
        if not isinstance(data, dict) or part not in data:
            return default
        data = data[part]
    return data


def main():
    given = json.load(sys.stdin)
    answer = os.dup(1)
    os.dup2(2, 1)
    functions = Functions(given["variables"])
    names = dict(given["variables"], salt=functions, __salt__=functions, __name__="states", __file__=given["path"])
    try:
        exec(compile(given["text"], given["path"], "exec"), names)
        if not callable(names.get("run")):
            raise NameError("the file has no function `run`")
        text = json.dumps(names["run"](), indent=1)
    except BaseException as error:  # pylint: disable=broad-except
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == given["path"]]
        line = places[-1].lineno if places else getattr(error, "lineno", None)
        place = f"line {line}: " if line else ""
        text = json.dumps({"error": f"{place}{type(error).__name__}: {error}"})
        os.write(answer, b"!")
    with os.fdopen(answer, "w") as stream:
        stream.write(text)


main()
