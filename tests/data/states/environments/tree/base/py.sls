#!py
"""A state file that is a program."""
import json


def run():
    text = json.dumps([__pillar__["tmp"], __sls__, __env__, "os" in __grains__, len(__salt__["grains.get"]("os")) > 0])
    return {
        "include": ["second"],
        "py": {"test.show_notification": [{"text": text}, {"require": [{"test": "second"}]}]},
    }
