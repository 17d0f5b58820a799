base:
  'golden': [inc_dev]
