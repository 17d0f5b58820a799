include:
  - dev: only
extend:
  nothing:
    test:
      - name: extended
