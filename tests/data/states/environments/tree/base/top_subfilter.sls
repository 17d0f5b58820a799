base:
  '*':
    - a
    - subfilter:
        'golden': [second]
