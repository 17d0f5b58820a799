include:
  - qa: a
