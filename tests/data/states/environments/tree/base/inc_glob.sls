include:
  - dev: 'g.*'
