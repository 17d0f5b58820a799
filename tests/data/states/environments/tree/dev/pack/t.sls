dev:
  'golden': [only]
