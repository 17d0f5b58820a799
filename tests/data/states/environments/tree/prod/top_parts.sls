dev:
  '*': [only, a]
prod:
  'os:*':
    - match: grain
    - p
