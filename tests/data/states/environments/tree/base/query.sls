{% import_yaml "f.yaml?saltenv=dev" as data %}
query:
  test.show_notification:
    - text: '{{ data.from }}'
