include:
  - dev: nothing
