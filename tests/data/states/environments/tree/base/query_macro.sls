{% from "salt://lib.jinja?saltenv=dev" import origin %}
query:
  test.show_notification:
    - text: '{{ origin() }}'
