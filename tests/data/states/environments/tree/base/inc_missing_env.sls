include:
  - nope: a
