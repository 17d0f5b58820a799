include:
  - files
  - dev: files
