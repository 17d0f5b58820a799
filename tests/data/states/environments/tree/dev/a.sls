{% from "lib.jinja" import origin %}
a-dev:
  test.show_notification:
    - text: "{{ saltenv }} {{ sls }} {{ origin() }}"
