include:
  - dev: only
extend:
  only-dev:
    test:
      - name: extended
