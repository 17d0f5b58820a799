"""Checks documents against a JSON schema and prints their problems as JSON.

Reads {"schema": SCHEMA, "documents": [DOCUMENT...]} and writes a list of problems for each document. A
problem is [POINTER, MESSAGE].
"""

import json
import sys

from jsonschema.validators import validator_for


def pointer(path):
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


request = json.load(sys.stdin)
kind = validator_for(request["schema"])
kind.check_schema(request["schema"])
validator = kind(request["schema"])
json.dump(
    [
        [[pointer(error.absolute_path), error.message] for error in validator.iter_errors(document)]
        for document in request["documents"]
    ],
    sys.stdout,
)
