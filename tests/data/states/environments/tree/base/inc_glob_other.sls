include:
  - dev: 'h.*'
